/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that torch.compile makes of the user's: where a graph breaks, the rest of a function is
 * one of its own, "Net.torch_dynamo_resume_in_forward_at_13".
 */
#ifndef MT_COMPILED_H
#define MT_COMPILED_H

/* Makes the user's name of such a function ("Net.forward"); another one's stays. */
void mt_compiled_shorten(char *function);

#endif
