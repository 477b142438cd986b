/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that torch.compile makes from the user's: after a graph break, the rest of a function
 * becomes its own function, "Net.torch_dynamo_resume_in_forward_at_13".
 */
#ifndef MT_COMPILED_H
#define MT_COMPILED_H

/* Shorten the name of such a function to the user's ("Net.forward"). Other names stay. */
void mt_compiled_shorten(char *function);

#endif
