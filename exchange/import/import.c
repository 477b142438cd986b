/* SPDX-License-Identifier: Apache-2.0 */
#include "import.h"
#include "analyzer/support/room.h"
#include "analyzer/support/text.h"
#include "analyzer/trace/definitions.h"
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char sqlite_begin[] = "SQLite format 3";

enum form { FORM_NONE, FORM_PICKLE, FORM_JSON, FORM_SQLITE, FORM_ZIP, FORM_GZIP, FORM_TRACE };

static enum form form_of(const struct mt_input *input)
{
    const unsigned char *b = input->buffer;
    size_t n = input->n, at = 0;
    if (n >= 2 && b[0] == 0x80 && b[1] >= 2 && b[1] <= 5)
        return FORM_PICKLE;
    if (n >= sizeof sqlite_begin && !memcmp(b, sqlite_begin, sizeof sqlite_begin))
        return FORM_SQLITE;
    if (n >= 4 && !memcmp(b, "PK\3\4", 4))
        return FORM_ZIP;
    if (n >= 2 && b[0] == 0x1f && b[1] == 0x8b)
        return FORM_GZIP;
    if (n >= 5 && !memcmp(b, "\x89MTAP", 5))
        return FORM_TRACE;
    while (at < n && (b[at] == ' ' || b[at] == '\n' || b[at] == '\r' || b[at] == '\t'))
        at++;
    return at < n && (b[at] == '{' || b[at] == '[') ? FORM_JSON : FORM_NONE;
}

bool mt_may_import(const char *path)
{
    unsigned char first[64];
    struct mt_input input = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .buffer = first};
    ssize_t n = input.fd < 0 ? -1 : read(input.fd, first, sizeof first);
    if (input.fd >= 0)
        close(input.fd);
    input.n = n > 0 ? (size_t)n : 0;
    enum form form = form_of(&input);
    return form == FORM_PICKLE || form == FORM_JSON || form == FORM_SQLITE || form == FORM_GZIP ||
           form == FORM_ZIP;
}

static int fail(struct mt_import_error *error, const char *text)
{
    snprintf(error->text, sizeof error->text, "%s", text);
    return -EBADMSG;
}

static int refuse(enum form form, const struct mt_input *input, struct mt_import_error *error)
{
    switch (form) {
    case FORM_GZIP:
        return fail(error, "compressed twice; gunzip it first");
    case FORM_ZIP:
        return fail(error, "an archive (torch.save); give the file that "
                           "torch.cuda.memory._dump_snapshot writes");
    case FORM_TRACE:
        return fail(error, "already a memtap trace");
    default:
        return fail(error, input->n ? "not a pickle, JSON or an SQLite database; "
                                      "memtap import reads PyTorch's memory snapshots, "
                                      "torch.profiler's JSON and Nsight Systems' SQLite export"
                                    : "the file is empty");
    }
}

static int read_graph(struct mt_input *input, enum form form, struct mt_script *script,
                      const char *folder, struct mt_import_summary *summary,
                      struct mt_import_error *error)
{
    struct mt_records *records = calloc(1, sizeof *records);
    if (!records)
        return -ENOMEM;
    int rc = mt_records_open(records, script, folder);
    if (!rc)
        rc = form == FORM_PICKLE ? mt_read_pickle(input, &records->graph)
                                 : mt_read_json(input, &records->graph);
    if (rc == -EBADMSG)
        snprintf(error->text, sizeof error->text, "%s", records->graph.error);
    if (!rc && !records->is_snapshot && !records->is_profile)
        rc = fail(error, "contains neither a memory snapshot nor torch.profiler's memory events "
                         "(profile_memory=True)");
    if (!rc && !records->n_events && records->without_address) {
        char count[MT_SIZE_TEXT];
        snprintf(error->text, sizeof error->text,
                 "%s memory events have no address, so blocks cannot be distinguished; record "
                 "them with a newer PyTorch",
                 mt_count_text(count, records->without_address));
        rc = -EBADMSG;
    }
    if (!rc && !records->n_events && !records->n_blocks)
        rc = fail(error, "contains no memory events and no blocks");
    if (!rc)
        mt_script_info(script, MT_IMPORTED,
                       records->is_snapshot ? "PyTorch's memory snapshot"
                                            : "torch.profiler's memory events");
    if (!rc)
        rc = mt_compose(records, summary);
    mt_records_clear(records);
    free(records);
    return rc;
}

void mt_import_notes(const struct mt_import_summary *summary, FILE *out)
{
    char count[MT_SIZE_TEXT], other[MT_SIZE_TEXT];
    if (summary->before)
        fprintf(out, "Note: %s blocks were allocated before the first event%s%s%s\n",
                mt_count_text(count, summary->before), summary->freed_only ? "; for " : "",
                summary->freed_only ? mt_count_text(other, summary->freed_only) : "",
                summary->freed_only ? ", the file has only the free, without a line" : "");
    if (summary->differing)
        fprintf(out, "Note: the final size of %s blocks cannot be derived from their requests\n",
                mt_count_text(count, summary->differing));
    if (summary->unknown_bytes)
        fprintf(out,
                "Note: %s allocated before the first event is left out, as nothing else is known "
                "about it\n",
                mt_size_text(count, summary->unknown_bytes));
    if (summary->most_allocated)
        fprintf(out, "Note: the file contradicts itself: %s allocated, but only %s reserved\n",
                mt_size_text(count, summary->most_allocated),
                mt_size_text(other, summary->in_reserved));
    const struct {
        bool holds;
        const char *text;
    } notes[] = {
        {summary->lacks_stacks,
         summary->is_profile
             ? "the file has no stacks (record them with with_stack=True), so no block has a line"
             : "the file has no stacks, so no block has a line"},
        {summary->lacks_times,
         "some events have no time; they keep their order, a microsecond apart"},
        {summary->is_profile, "torch.profiler does not record segments; reserved memory is its "
                              "total"},
        {summary->cut_devices, "there are more than 64 devices; the trace has the first 64"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].holds)
            fprintf(out, "Note: %s\n", notes[i].text);
}

int mt_import(const char *path, FILE *out, const char *folder, struct mt_import_summary *summary,
              struct mt_import_error *error)
{
    struct mt_script script;
    struct mt_input input = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    memset(error, 0, sizeof *error);
    memset(summary, 0, sizeof *summary);
    if (input.fd < 0)
        return fail(error, strerror(errno));
    mt_room_input(path);
    input.buffer = malloc(MT_INPUT_BUFFER);
    int rc = input.buffer ? mt_script_open(&script, out) : -ENOMEM;
    if (!rc) {
        mt_input_fill(&input);
        enum form form = form_of(&input);
        if (form == FORM_GZIP) {
            mt_input_unpack(&input);
            form = form_of(&input);
            form = form == FORM_SQLITE ? FORM_GZIP : form; /* it is read by its path */
        }
        mt_script_info(&script, "imported_from", path);
        mt_script_thread(&script, 1, "main");
        mt_script_thread(&script, 2, "pt_autograd_0");
        if (input.rc)
            rc = fail(error, strerror(-input.rc));
        else if (form == FORM_SQLITE)
            rc = mt_import_nsight(path, &script, summary, error);
        else
            rc = form == FORM_PICKLE || form == FORM_JSON
                     ? read_graph(&input, form, &script, folder, summary, error)
                     : refuse(form, &input, error);
        if (!rc)
            rc = mt_script_end(&script);
    }
    if (input.buffer)
        mt_script_close(&script);
    free(input.buffer);
    mt_input_close(&input);
    return rc;
}
