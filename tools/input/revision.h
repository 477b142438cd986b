/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which commit and branch the program is of that was recorded.
 */
#ifndef MT_REVISION_H
#define MT_REVISION_H

struct mt_revision {
    char commit[256], branch[256]; /* "": not known */
};

/* What is not given (NULL) comes from what a CI service sets, else from git of the working
 * directory. */
void mt_revision_find(struct mt_revision *revision, const char *commit, const char *branch);

#endif
