/* SPDX-License-Identifier: Apache-2.0 */
/* The window of a light recording. */
#include "writer-parts.h"

#include <errno.h>

/* Keep everything from here on: the live memory is unknown. */
static void keep_all(int rc)
{
    if (mt_writer.selection)
        mt_selection_give_up(mt_writer.selection, mt_writer_put);
    mt_writer_keep_all(rc);
}

void mt_writer_end_window(bool is_last)
{
    int rc = mt_writer.selection
                 ? mt_selection_end(mt_writer.selection, mt_writer.live, is_last, mt_writer_put)
                 : 0;
    if (rc)
        keep_all(rc);
}

void mt_writer_add_to_window(const struct mt_event *event)
{
    int rc = mt_selection_add(mt_writer.selection, event);
    if (rc == -EAGAIN) {
        mt_writer_end_window(false);
        rc = mt_writer.selection ? mt_selection_add(mt_writer.selection, event) : 0;
    }
    if (rc)
        keep_all(rc);
}
