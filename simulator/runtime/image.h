/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that a program registered at start, and what they were compiled for. */
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

/* What of a kernel's images a card would run: 86 for sm_86. */
struct sim_code {
    int ptx;    /* the architecture that it was compiled for */
    int binary; /* the architecture that runs: the card's own when it was compiled at load */
};

/*
 * The image of a registered kernel that a card of that capability (89 for 8.9) runs. A function
 * that nobody registered is taken to be made for the card. Returns 0, or -ENOEXEC when the program
 * has no image for such a card.
 */
int sim_image_for(const void *function, int capability, struct sim_code *code);

/* The kernel's name as the compiler mangled it, NULL when nobody registered it. */
const char *sim_image_name(const void *function);

#endif
