/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit and branch of the recorded program.
 */
#ifndef MT_REVISION_H
#define MT_REVISION_H

struct mt_revision {
    char commit[256], branch[256]; /* "": unknown */
};

/* Fill in what is NULL from a CI service's variables, else from git in the working directory. */
void mt_revision_find(struct mt_revision *revision, const char *commit, const char *branch);

#endif
