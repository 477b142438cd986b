/* SPDX-License-Identifier: Apache-2.0 */
#include "revision.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Start a program with stdout in the pipe and stderr discarded. Return 0 or an errno. */
static int start(pid_t *pid, char *const argv[], int to)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, to, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int rc = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* Write the first line of a command's output; "" if it cannot be started or fails. */
static void first_line(char *out, size_t size, char *const argv[])
{
    int ends[2], status = -1;
    size_t filled = 0;
    pid_t pid;
    *out = '\0';
    if (pipe2(ends, O_CLOEXEC))
        return;
    int rc = start(&pid, argv, ends[1]);
    close(ends[1]);
    for (ssize_t n = 1; !rc && n > 0 && filled + 1 < size; filled += n > 0 ? (size_t)n : 0)
        n = read(ends[0], out + filled, size - 1 - filled);
    close(ends[0]);
    while (!rc && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    out[rc || status ? 0 : filled] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

static void take(char out[256], const char *given, const char *const *variables, char *const git[])
{
    const char *known = given ? given : first_set(variables);
    if (known)
        snprintf(out, 256, "%s", known);
    else
        first_line(out, 256, git);
}

void mt_revision_find(struct mt_revision *revision, const char *commit, const char *branch)
{
    static char program[] = "git", parse[] = "rev-parse", verify[] = "--verify", quiet[] = "-q",
                head[] = "HEAD", symbolic[] = "symbolic-ref", brief[] = "--short";
    char *const ask_commit[] = {program, parse, verify, quiet, head, NULL};
    char *const ask_branch[] = {program, symbolic, quiet, brief, head, NULL};
    take(revision->commit, commit, commit_variables, ask_commit);
    take(revision->branch, branch, branch_variables, ask_branch);
}
