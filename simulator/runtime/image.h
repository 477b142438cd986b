/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that a program registered at start, and the architectures that they were compiled
 * for. */
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

/* The code of a kernel that a card would run: 86 for sm_86. */
struct sim_code {
    int ptx;    /* the architecture it was compiled for */
    int binary; /* the architecture that runs: the card's own when it was compiled at load */
};

/*
 * Find the image of a registered kernel that a card of this capability (89 for 8.9) runs. An
 * unregistered function is assumed to fit the card. Return 0, or -ENOEXEC if the program has no
 * image for the card.
 */
int sim_image_for(const void *function, int capability, struct sim_code *code);

/* Return the kernel's mangled name, NULL if it is not registered. */
const char *sim_image_name(const void *function);

#endif
