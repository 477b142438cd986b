/* SPDX-License-Identifier: Apache-2.0 */
#include "revision.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GitHub (a pull request's own branch), GitLab, Jenkins, Buildkite, CircleCI, Azure Pipelines,
 * Bitbucket and Travis CI; the first that is set. */
static const char *const commit_variables[] = {
    "GITHUB_SHA",       "CI_COMMIT_SHA", "GIT_COMMIT",
    "BUILDKITE_COMMIT", "CIRCLE_SHA1",   "BUILD_SOURCEVERSION",
    "BITBUCKET_COMMIT", "TRAVIS_COMMIT", NULL};
static const char *const branch_variables[] = {"GITHUB_HEAD_REF",        "GITHUB_REF_NAME",
                                               "CI_COMMIT_REF_NAME",     "GIT_BRANCH",
                                               "BUILDKITE_BRANCH",       "CIRCLE_BRANCH",
                                               "BUILD_SOURCEBRANCHNAME", "BITBUCKET_BRANCH",
                                               "TRAVIS_BRANCH",          NULL};

static const char *first_set(const char *const *variables)
{
    for (; *variables; variables++) {
        const char *value = getenv(*variables);
        if (value && *value)
            return value;
    }
    return NULL;
}

/* Write the first line of a command's output; "" if it cannot be started or fails. */
static void first_line(char out[256], const char *command)
{
    FILE *output = popen(command, "re");
    bool has_line = output && fgets(out, 256, output);
    if (!output || pclose(output) || !has_line)
        *out = '\0';
    out[strcspn(out, "\n")] = '\0';
}

static void take(char out[256], const char *given, const char *const *variables, const char *git)
{
    const char *known = given ? given : first_set(variables);
    if (known)
        snprintf(out, 256, "%s", known);
    else
        first_line(out, git);
}

const char *mt_line_commit(char out[512], const char *file, unsigned line)
{
    char command[4096], commit[256], title[256];
    *out = '\0';
    if (!line || strchr(file, '\'') || strlen(file) > 1024)
        return out;
    snprintf(command, sizeof command,
             "git blame --porcelain -L %u,%u -- '%s' </dev/null 2>/dev/null", line, line, file);
    first_line(commit, command);
    if (strspn(commit, "0123456789abcdef") < 40 || strspn(commit, "0") >= 40)
        return out;
    snprintf(command, sizeof command,
             "git log -1 --date=short --format='%%h (%%ad): %%s' %.40s </dev/null 2>/dev/null",
             commit);
    first_line(title, command);
    snprintf(out, 512, "%s", title);
    return out;
}

void mt_revision_find(struct mt_revision *revision, const char *commit, const char *branch)
{
    take(revision->commit, commit, commit_variables,
         "git rev-parse --verify -q HEAD </dev/null 2>/dev/null");
    take(revision->branch, branch, branch_variables,
         "git symbolic-ref -q --short HEAD </dev/null 2>/dev/null");
}
