/* SPDX-License-Identifier: Apache-2.0 */
/* Answer memtap save and memtap stop, which send their requests through the tail: no signal, file
 * or thread of the host is involved. */
#include "preload/holders/holders.h"
#include "preload/record/guard.h"
#include "writer-parts.h"

bool mt_writer_accept_request(void)
{
    uint32_t iterations;
    bool wants_holders, wants_stop;
    if (!mt_writer_is_open() || mt_guard_has_lost() ||
        !mt_tail_accept_request(&iterations, &wants_holders, &wants_stop))
        return false;
    mt_writer.has_request = true;
    mt_writer.has_to_rest = wants_stop;
    if (mt_writer.selection)
        mt_selection_write_all(mt_writer.selection, mt_now() - mt_writer.start_ns, iterations);
    if (wants_holders)
        mt_holders_search(MT_HOLDERS_REQUESTED);
    return true;
}

void mt_writer_answer_request(bool is_new)
{
    bool is_over = !mt_writer.selection || !mt_selection_writes_iterations(mt_writer.selection);
    if (!mt_writer.has_request || !(is_new || is_over) || !mt_writer_is_open() ||
        mt_holders_are_sought())
        return;
    mt_tail_answer(is_over);
    mt_writer.has_request = !is_over;
}
