/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_WRITE_DRAIN_H
#define MT_WRITE_DRAIN_H

#include <stdbool.h>

/* Read the rings in the order of time, and write the events, with `working` held. is_last: all of
 * them. */
void mt_writer_drain(bool is_last);

#endif
