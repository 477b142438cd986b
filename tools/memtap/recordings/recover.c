/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "analyzer/support/text.h"
#include "analyzer/support/write.h"
#include "analyzer/trace/ended.h"
#include "command.h"
#include "tools/memtap/input/original.h"
#include "tools/memtap/terminal/values.h"
#include "trace-format/block.h"
#include "trace-format/end-note.h"
#include "trace-format/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct mt_option mt_recover_options[] = {
    {'o', "output", "FILE", "write to this file, and leave the trace and its tail\nunchanged", NULL,
     mt_note_text},
    {0},
};

/* The new contents of the file: unchanged bytes, then new ones. */
struct recovery {
    const char *path, *output; /* output NULL: in place */
    struct mt_encoder *encoder;
    struct mt_chain chain; /* the encoder's chain, of the unchanged blocks, then of the new ones */
    bool is_following;
    struct mt_survey survey;
    uint64_t sound;   /* unchanged bytes of the trace */
    uint64_t of_tail; /* events */
    bool lacks_older; /* segment, and there is none */
    bool has_older;   /* segment, which is copied with a new file */
    bool is_over;     /* certainly no process is writing the trace */
    struct mt_original original;
    FILE *made; /* in memory: `bytes` of `size` once flushed */
    char *bytes;
    size_t size;
};

/* Continue after the blocks that were read. */
static void follow(struct recovery *recovery, const struct mt_reader *reader)
{
    if (!recovery->is_following)
        recovery->chain = mt_reader_chain(reader);
    recovery->is_following = true;
    mt_encoder_follow(recovery->encoder, &recovery->chain);
}

static int encode_batch(struct recovery *recovery, const struct mt_batch *batch)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < batch->n_definitions; i++)
        rc = mt_write_definition(recovery->made, recovery->encoder, &batch->definitions[i]);
    for (size_t i = 0; !rc && i < batch->n_events; i++)
        rc = mt_write_event(recovery->made, recovery->encoder, &batch->events[i]);
    recovery->of_tail += batch->n_events;
    return rc ? rc : mt_write_block(recovery->made, recovery->encoder);
}

/* Write how the recording ended, which an end block would hide. A killed process's signal may be
 * known from its tail. */
static int encode_state(struct recovery *recovery, const struct mt_trace_error *error)
{
    char text[64];
    const struct mt_survey *survey = &recovery->survey;
    int n =
        snprintf(text, sizeof text, MT_ENDED_INFO "%s",
                 error->fault ? mt_ended_name(MT_ENDED_CUT) : mt_trace_state_names[survey->state]);
    struct mt_definition info = {.kind = MT_DEF_INFO, .text = text, .text_size = (size_t)n};
    if (*survey->ended && !error->fault)
        return 0;
    return mt_write_definition(recovery->made, recovery->encoder, &info);
}

/* Write a note on the recovery, and the end block. */
static int encode_end(struct recovery *recovery, const struct mt_trace_error *error)
{
    char text[64 + sizeof error->text], number[MT_SIZE_TEXT];
    const struct mt_survey *survey = &recovery->survey;
    int n = error->fault ? snprintf(text, sizeof text, "recovered=%s", error->text)
                         : snprintf(text, sizeof text, "recovered=%s events from the tail",
                                    mt_count_text(number, recovery->of_tail));
    struct mt_end end = {mt_survey_length_ns(survey), survey->events, mt_survey_lost(survey)};
    struct mt_definition info = {.kind = MT_DEF_INFO, .text = text, .text_size = (size_t)n};
    int rc = mt_write_definition(recovery->made, recovery->encoder, &info);
    if (!rc)
        rc = encode_state(recovery, error);
    if (!rc)
        rc = mt_write_block(recovery->made, recovery->encoder);
    return rc ? rc : mt_write_end(recovery->made, recovery->encoder, &end);
}

/* Read the trace to its end, or up to a fault: error->fault. */
static int read_trace(struct recovery *recovery, struct mt_reader *reader,
                      struct mt_trace_error *error)
{
    struct mt_batch batch;
    int rc = 0;
    mt_survey_begin(&recovery->survey, recovery->path);
    recovery->survey.state = mt_reader_state(reader);
    recovery->is_over = mt_reader_is_over(reader);
    while (!rc && mt_reader_next(reader, &batch, error) > 0) {
        mt_survey_add(&recovery->survey, &batch);
        recovery->has_older |= batch.is_older;
        if (!batch.is_tail)
            continue;
        follow(recovery, reader);
        rc = encode_batch(recovery, &batch);
    }
    recovery->sound = mt_reader_offset(reader);
    recovery->lacks_older = error->fault == MT_FAULT_SEGMENT;
    follow(recovery, reader);
    if (!rc && !recovery->survey.complete)
        rc = encode_end(recovery, error);
    return rc;
}

/* Copy the first bytes of a file, or all of it. */
static int copy(const char *path, int to, uint64_t most)
{
    unsigned char bytes[65536];
    int rc = 0, from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return -errno;
    for (ssize_t n = 1; !rc && n && most;) {
        n = read(from, bytes, most < sizeof bytes ? (size_t)most : sizeof bytes);
        rc = n < 0 ? -errno : mt_write_all(to, bytes, (size_t)n);
        most -= n > 0 ? (uint64_t)n : 0;
    }
    close(from);
    return rc;
}

/* Never overwrite a file: it may be the only copy of another trace. */
#define NEW_TRACE (MT_FILE_PRIVATE | MT_FILE_ONLY_NEW)

struct beside {
    char path[PATH_MAX + 8];
};

/* Return the path of a file that belongs to a trace, next to it. */
static struct beside beside(const char *path, const char *suffix)
{
    char real[PATH_MAX];
    struct beside name;
    snprintf(name.path, sizeof name.path, "%s%s", realpath(path, real) ? real : path, suffix);
    return name;
}

static int copy_older(const struct recovery *recovery)
{
    struct mt_new_file file;
    int rc = mt_new_file_open(&file, beside(recovery->output, MT_OLDER_SUFFIX).path, NEW_TRACE);
    if (rc)
        return rc;
    rc = copy(beside(recovery->path, MT_OLDER_SUFFIX).path, file.fd, UINT64_MAX);
    if (rc)
        mt_new_file_drop(&file);
    return rc ? rc : mt_new_file_keep(&file);
}

/* Turn a segment into a separate trace. */
static int forget_older(int fd)
{
    static const unsigned char none[8];
    return pwrite(fd, none, sizeof none, MT_OLDER_ID_AT) == (ssize_t)sizeof none ? 0 : -errno;
}

static int write_file(const struct recovery *recovery, int fd)
{
    int rc = copy(recovery->path, fd, recovery->sound);
    if (!rc && recovery->lacks_older && !recovery->has_older)
        rc = forget_older(fd);
    if (!rc)
        rc = mt_write_all(fd, recovery->bytes, recovery->size);
    if (!rc && fdatasync(fd) && errno != EINVAL)
        rc = -errno;
    return rc;
}

static int write_new(const struct recovery *recovery)
{
    struct mt_new_file file;
    int rc = mt_new_file_open(&file, recovery->output, NEW_TRACE);
    if (rc)
        return rc;
    rc = write_file(recovery, file.fd);
    if (!rc && recovery->has_older)
        rc = copy_older(recovery);
    if (!rc && !mt_original_is_there(&recovery->original))
        rc = -EBUSY; /* another segment was copied */
    if (rc)
        mt_new_file_drop(&file);
    return rc ? rc : mt_new_file_keep(&file);
}

/* Write a new file next to the trace, then rename it over the trace. An interrupted recovery can be
 * repeated, and a program that is still running keeps its files. */
static int write_in_place(const struct recovery *recovery)
{
    char temporary[PATH_MAX];
    int fd = mt_original_begin(&recovery->original, temporary);
    if (fd < 0)
        return fd;
    int rc = write_file(recovery, fd);
    if (close(fd) && !rc)
        rc = -errno;
    if (!rc)
        rc = mt_original_replace(&recovery->original, temporary, recovery->is_over);
    if (rc)
        unlink(temporary);
    return rc;
}

/* Refuse changes that must not be made in place. Return 0, or MT_EXIT_BAD after a message. */
static int check(const struct recovery *recovery, const struct mt_trace_error *error)
{
    if (recovery->output)
        return 0;
    if (recovery->survey.state == MT_TRACE_RUNNING)
        return mt_fail("%s: the program is still running; wait until it ends, or give -o FILE to "
                       "copy what is recorded so far",
                       recovery->path);
    if (error->fault && error->fault != MT_FAULT_CUT)
        return mt_fail("%s: %s; give -o FILE to copy the readable part", recovery->path,
                       error->text);
    return 0;
}

static int refuse(const struct recovery *recovery, const char *path, int rc)
{
    if (rc == -EBUSY && recovery->output)
        return mt_fail("%s: the program has begun a new segment; try again", recovery->path);
    if (rc == -EBUSY)
        return mt_fail(
            "%s: changed during recovery, so its program is running; wait until it ends, or give "
            "-o FILE to copy what is recorded so far",
            path);
    if (rc == -EEXIST && recovery->output)
        return mt_fail("%s: already exists; give another name", path);
    if (rc == -EEXIST)
        return mt_fail("%s%s: already exists; move it away, or give -o FILE", path, MT_KEPT_SUFFIX);
    return mt_fail("%s: cannot write: %s", path, mt_output_error(rc));
}

static int finish(const struct recovery *recovery, const struct mt_trace_error *error)
{
    const char *path = recovery->output ? recovery->output : recovery->path;
    char events[MT_SIZE_TEXT], number[MT_SIZE_TEXT];
    if (recovery->survey.complete && !error->fault && !recovery->output) {
        mt_print_text(path);
        puts(": complete; nothing to recover");
        return MT_EXIT_OK;
    }
    int rc = check(recovery, error);
    if (rc)
        return rc;
    rc = recovery->output ? write_new(recovery) : write_in_place(recovery);
    if (rc)
        return refuse(recovery, path, rc);
    if (!recovery->output && !recovery->is_over)
        mt_say("%s: the program may still be running; the original trace is now %s%s", path, path,
               MT_KEPT_SUFFIX);
    if (error->fault)
        mt_say("%s: %s", recovery->path, error->text);
    mt_print_text(path);
    printf(": %s event%s, %s of them from the tail\n",
           mt_count_text(events, recovery->survey.events), recovery->survey.events == 1 ? "" : "s",
           mt_count_text(number, recovery->of_tail));
    return MT_EXIT_OK;
}

static int recover(struct recovery *recovery)
{
    struct mt_trace_error error;
    struct mt_reader *reader;
    int noted = mt_original_note(
        &recovery->original, recovery->path); /* note the state note the state before it is read */
    if (mt_reader_open(&reader, recovery->path, &error))
        return mt_fail_trace(recovery->path, &error);
    recovery->encoder = mt_encoder_create(3);
    recovery->made = open_memstream(&recovery->bytes, &recovery->size);
    int rc = recovery->encoder && recovery->made ? read_trace(recovery, reader, &error) : -ENOMEM;
    if (!rc && !recovery->output)
        rc = noted;
    mt_reader_close(reader);
    if (recovery->made && fclose(recovery->made) && !rc)
        rc = -ENOMEM;
    rc = rc ? mt_fail("%s: %s", recovery->path, strerror(-rc)) : finish(recovery, &error);
    mt_encoder_destroy(recovery->encoder);
    free(recovery->bytes);
    return rc;
}

int mt_recover_copy(const char *trace, const char *output)
{
    struct recovery recovery = {.path = trace, .output = output};
    return recover(&recovery);
}

int mt_run_recover(const struct mt_command *command, int argc, char **argv)
{
    struct recovery recovery = {0};
    recovery.path = mt_read_operand(command, argc, argv, "trace", &recovery.output);
    return recovery.path ? recover(&recovery) : MT_EXIT_BAD;
}
