/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit and branch of the recorded program.
 */
#ifndef MT_REVISION_H
#define MT_REVISION_H

struct mt_revision {
    char commit[256], branch[256]; /* "": unknown */
};

/* Fill in NULL members from a CI service's variables, else from git in the working directory. */
void mt_revision_find(struct mt_revision *revision, const char *commit, const char *branch);

/* Write the commit that last changed a line of a file, "1a2b3c4 (2026-11-12): Keep the outputs";
 * "": it is not in a repository, not committed, or the file's name has a quote. Return out. */
const char *mt_line_commit(char out[512], const char *file, unsigned line);

#endif
