/* SPDX-License-Identifier: Apache-2.0 */
#include "page-file.h"
#include "analyzer/report/oom-report.h"
#include "analyzer/report/report.h"
#include "analyzer/support/new-file.h"
#include "analyzer/support/text.h"
#include "analyzer/trace/definitions.h"
#include "locate.h"
#include "planner/advice/oom-advice.h"
#include "tools/memtap/terminal/command.h"
#include "trace-format/reader.h"
#include "trace-format/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Reports as text in a page, for a browser that cannot draw its views and for readers of the file.
 */

/* Each line is read from its file again. */
#define SOURCE_LINES_MAX 2000u

/* What the page draws of a request that failed. */
struct failed {
    uint64_t room;    /* bytes that PyTorch might have reserved; 0: unknown */
    json_t *remedies; /* [{"what", "bytes"}]: those that serve the request, and what they save */
};

/* Put a text. run: the label of the trace that ran out of memory; NULL: the text is another. */
static void put_text(FILE *out, const char *title, const char *text, const char *run,
                     const struct failed *failed)
{
    char *copy = strdup(text), *rest = copy;
    fputs("<h2>", out);
    mt_put_text(out, title, MT_FOR_XML);
    fputs("</h2>\n<pre", out);
    if (run) {
        fputs(" data-oom=\"", out);
        mt_put_text(out, run, MT_FOR_XML);
        char *remedies = json_dumps(failed->remedies, JSON_COMPACT | JSON_ENSURE_ASCII);
        fprintf(out, "\" data-room=\"%llu\" data-remedies=\"", (unsigned long long)failed->room);
        mt_put_text(out, remedies ? remedies : "[]", MT_FOR_XML);
        free(remedies);
        putc('"', out);
    }
    putc('>', out);
    for (const char *line; copy && (line = strsep(&rest, "\n"));) {
        mt_put_text(out, line, MT_FOR_XML);
        putc('\n', out);
    }
    fputs("</pre>\n", out);
    free(copy);
}

/* Write our text as HTML. Its lines may contain foreign text. */
static void put_page_text(FILE *out, const char *title, const char *text)
{
    put_text(out, title, text, NULL, NULL);
}

static void note_failed(struct failed *failed, const struct mt_oom_story *story)
{
    const struct mt_balance *balance = &story->device->balance;
    if (story->limit)
        failed->room = story->limit;
    else if (balance->known && balance->total > balance->used)
        failed->room = story->oom->reserved + balance->total - balance->used;
    for (size_t i = 0; i < story->n_advice; i++) {
        const struct mt_advice *advice = &story->advice[i];
        if (advice->served == MT_SERVED_YES && advice->bytes && !*advice->set)
            json_array_append_new(failed->remedies, json_pack("{s:s, s:I}", "what", advice->what,
                                                              "bytes", (json_int_t)advice->bytes));
    }
}

/* Write what memtap oom prints. 0 or -ENOMEM. */
static int write_story(FILE *out, const char *path, struct failed *failed)
{
    static struct mt_advisor advisor;
    const struct mt_style style = {.utf8 = 1};
    struct mt_question question = {.moment.kind = MT_AT_OOM};
    struct mt_analysis analysis;
    struct mt_oom_story story;
    int rc = mt_advisor_watch(&advisor, &question);
    if (rc)
        return rc;
    rc = mt_analysis_create(&analysis, path, &question);
    if (!rc)
        rc = mt_oom_explain(&story, &analysis);
    if (!rc)
        rc = mt_advise(&advisor, &analysis, &story);
    if (!rc) {
        mt_oom_text(&story, &analysis, out, &style);
        note_failed(failed, &story);
    }
    mt_analysis_destroy(&analysis);
    mt_advisor_clear(&advisor);
    return rc == -ENOMEM ? rc : 0;
}

static void put_source(FILE *out, const struct mt_definitions *definitions, uint32_t stack)
{
    const struct mt_frame *frame = mt_stack_frame(definitions, stack);
    char text[512];
    if (!mt_source_line(text, sizeof text, definitions, stack))
        return;
    fputs("<li data-file=\"", out);
    mt_put_text(out, frame->file, MT_FOR_XML);
    fprintf(out, "\" data-line=\"%u\">", frame->line);
    mt_put_text(out, text, MT_FOR_XML);
    fputs("</li>\n", out);
}

/* Write the source of every line that stands for a stack. */
static int write_sources(FILE *out, const struct mt_definitions *definitions)
{
    uint32_t limit = mt_definitions_stack_limit(definitions), n = 0;
    bool *is_put = calloc(mt_definitions_frame_limit(definitions) + 1, sizeof *is_put);
    for (uint32_t stack = 1; stack < limit && n < SOURCE_LINES_MAX && is_put; stack++) {
        uint32_t frame = mt_stack(definitions, stack)->frame;
        if (mt_stack_line(definitions, stack) != stack || is_put[frame])
            continue;
        is_put[frame] = true;
        put_source(out, definitions, stack);
        n++;
    }
    free(is_put);
    return is_put ? 0 : -ENOMEM;
}

/* End a text that is written into memory, with what writing it returned. 0 or a negative errno. */
static int end_text(FILE *memory, int rc)
{
    return memory && mt_close_memory(memory) && !rc ? -ENOMEM : rc;
}

/* Write a run's source lines; none if they are those of the run before. */
static int put_sources(FILE *out, const char *run, const struct mt_definitions *definitions,
                       char **last)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    int rc = end_text(memory, memory ? write_sources(memory, definitions) : -ENOMEM);
    if (rc || !*text) {
        free(text);
        return rc;
    }
    fputs("<ul hidden data-run=\"", out);
    mt_put_text(out, run, MT_FOR_XML);
    fprintf(out, "\">\n%s</ul>\n", *last && !strcmp(text, *last) ? "" : text);
    free(*last);
    *last = text;
    return 0;
}

/* A run in a page. */
struct shown {
    const char *label, *path;
    struct mt_trace_error fault;
    bool ran_out;
};

/* Write the report into `out`, and the run's source lines into the page. */
static int write_report(FILE *out, FILE *page, struct shown *run, char **sources)
{
    const struct mt_style style = {.utf8 = 1};
    const struct mt_question question = {0};
    struct mt_analysis analysis;
    int rc = mt_analysis_create(&analysis, run->path, &question);
    run->fault = analysis.fault;
    run->ran_out = !rc && analysis.replay.ooms.n;
    if (!rc)
        mt_report_text(&analysis, out, &style);
    if (!rc && run->fault.fault)
        fprintf(out, "\n%s\n", run->fault.text);
    if (!rc)
        rc = put_sources(page, run->label, analysis.replay.definitions, sources);
    mt_analysis_destroy(&analysis);
    return rc;
}

static int put_story(FILE *out, const char *label, const char *path)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    struct failed failed = {.remedies = json_array()};
    int rc = end_text(memory, memory ? write_story(memory, path, &failed) : -ENOMEM);
    if (!rc && *text)
        put_text(out, "Out of memory", text, label, &failed);
    json_decref(failed.remedies);
    free(text);
    return rc;
}

/* Return a trace's base name, or its whole path if another trace has the same base name. */
static const char *label_of(const struct mt_page_content *content, int index)
{
    const char *path = content->paths[index], *name = mt_last_part(path);
    if (content->imported && content->imported[index])
        return mt_last_part(content->imported[index]);
    for (int i = 0; i < content->n; i++)
        if (i != index && !strcmp(mt_last_part(content->paths[i]), name))
            return !strncmp(path, "./", 2) ? path + 2 : path;
    return name;
}

/* Write the output of memtap report for a trace, and the text of its stacks' lines: once for runs
 * of the same lines. *sources keeps them from run to run: NULL for the first, to be freed after the
 * last. Return 0, or a negative errno after a message. */
static int put_page_report(FILE *out, const struct mt_page_content *content, int index,
                           char **sources)
{
    char *text = NULL;
    size_t size;
    const char *title = label_of(content, index), *path = content->paths[index];
    struct shown run = {.label = title, .path = path};
    FILE *memory = open_memstream(&text, &size);
    int rc = end_text(memory, memory ? write_report(memory, out, &run, sources) : -ENOMEM);
    if (!rc && run.ran_out)
        rc = put_story(out, title, path);
    if (!rc)
        put_page_text(out, title, text);
    bool is_part = !rc && run.fault.fault && content->is_damaged;
    if (rc || is_part)
        mt_fail_trace(path, &run.fault);
    if (is_part)
        *content->is_damaged = true;
    free(text);
    return rc;
}

/* The place of the traces in the installed page. */
static const char mark[] = "<!--TRACES-->";

/* A larger page takes more memory than a browser's tab should have. */
#define BYTES_MAX (256u << 20)

/* Beyond this size, no reports as text: the user would wait too long. */
#define TEXT_BYTES_MAX (64u << 20)

/* One trace in a page. */
struct carried {
    const char *path, *label;
    int number;
    const char *side; /* "old", "new"; "": not compared */
};

static void put_base64(FILE *out, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t n = size - i < 3 ? size - i : 3;
        uint32_t word = (uint32_t)bytes[i] << 16 | (n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (n > 2 ? bytes[i + 2] : 0);
        char text[4] = {digits[word >> 18], digits[word >> 12 & 63],
                        n > 1 ? digits[word >> 6 & 63] : '=', n > 2 ? digits[word & 63] : '='};
        fwrite(text, 1, sizeof text, out);
    }
}

/* Open a trace, or a copy with the names of its native frames, since a browser has no libraries to
 * look them up in. Files next to a trace that still grows describe its current state. */
static FILE *open_named(const char *path)
{
    struct mt_trace_error error = {0};
    struct mt_symbolized result = {0};
    char tail[MT_PLACE_SIZE];
    snprintf(tail, sizeof tail, "%s%s", path, MT_TAIL_SUFFIX);
    FILE *named = access(tail, F_OK) ? tmpfile() : NULL;
    if (named && !mt_symbolize(path, named, &result, &error) && result.named) {
        rewind(named);
        return named;
    }
    if (named)
        fclose(named);
    return fopen(path, "rb");
}

/* Copy a file into the page: a trace, or a file next to it, if it exists. Return 0 or a negative
 * errno. */
static int put_file(FILE *out, const struct carried *trace, const char *path)
{
    unsigned char bytes[3 << 14];
    bool is_trace = path == trace->path;
    FILE *file = is_trace ? open_named(path) : fopen(path, "rb");
    if (!file)
        return errno == ENOENT && !is_trace ? 0 : -errno;
    fprintf(out, "<script type=\"text/plain\" data-run=\"%d\" data-side=\"%s\" data-label=\"",
            trace->number, trace->side);
    mt_put_text(out, trace->label, MT_FOR_XML);
    fputs("\" data-trace=\"", out);
    mt_put_text(out, mt_last_part(path), MT_FOR_XML);
    fputs("\">", out);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
        put_base64(out, bytes, n);
    fputs("</script>\n", out);
    int rc = ferror(file) ? -EIO : 0;
    fclose(file);
    return rc;
}

static int print_too_large(const char *path, const char *what)
{
    return mt_fail(
        "%s: %s too large for a page (%u MiB at most); memtap compact makes small copies", path,
        what, BYTES_MAX >> 20);
}

/* Return a readable trace's size in bytes; 0 after a message. */
static uint64_t size_of(const char *path)
{
    struct mt_reader *reader;
    struct mt_trace_error error;
    if (mt_reader_open(&reader, path, &error)) {
        mt_fail_trace(path, &error);
        return 0;
    }
    uint64_t size = mt_reader_file_size(reader);
    mt_reader_close(reader);
    return size;
}

/* Return whether all traces can be read and fit together. Otherwise tell the user. */
static bool are_fit(const struct mt_page_content *content)
{
    uint64_t sum = 0;
    for (int i = 0; i < content->n; i++) {
        uint64_t size = size_of(content->paths[i]);
        sum += size;
        if (size > BYTES_MAX)
            print_too_large(content->paths[i], "the trace is");
        else if (sum > BYTES_MAX)
            print_too_large(content->paths[i], "the traces up to this one are");
        if (!size || sum > BYTES_MAX)
            return false;
    }
    return true;
}

static int put_trace(FILE *out, const struct mt_page_content *content, int index)
{
    static const char *const beside[] = {MT_TAIL_SUFFIX, MT_OLDER_SUFFIX};
    const struct carried trace = {content->paths[index], label_of(content, index), index,
                                  !content->n_old          ? ""
                                  : index < content->n_old ? "old"
                                                           : "new"};
    char name[MT_PLACE_SIZE];
    int rc = put_file(out, &trace, trace.path);
    for (unsigned i = 0; i < 2 && !rc; i++) {
        snprintf(name, sizeof name, "%s%s", trace.path, beside[i]);
        rc = put_file(out, &trace, name);
    }
    return rc ? mt_fail("%s: %s", trace.path, strerror(-rc)) : 0;
}

/* Write the reports as text. */
static int put_texts(FILE *out, const struct mt_page_content *content)
{
    char *sources = NULL;
    uint64_t sum = 0;
    int rc = 0;
    fputs("<section id=\"texts\">\n", out);
    if (content->text)
        put_page_text(out, content->title, content->text);
    for (int i = 0; i < content->n && !rc; i++) {
        sum += size_of(content->paths[i]);
        if (sum <= TEXT_BYTES_MAX)
            rc = put_page_report(out, content, i, &sources);
        else
            put_page_text(out, label_of(content, i),
                          "The trace is large: memtap report prints its report.");
    }
    free(sources);
    fputs("</section>\n", out);
    return rc ? MT_EXIT_BAD : MT_EXIT_OK;
}

/* Return the installed page's text; NULL after a message. */
static char *read_empty(void)
{
    char place[MT_PLACE_SIZE], *text = NULL;
    size_t size = 0;
    if (mt_locate_page(place)) {
        mt_fail("%s: this memtap was built without its page; memtap report shows the same as text",
                place);
        return NULL;
    }
    FILE *file = fopen(place, "rb");
    if (!file || getdelim(&text, &size, '\0', file) < 0 || !strstr(text, mark)) {
        mt_fail("%s: the page is damaged; install memtap again", place);
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

static int write_page(FILE *out, const char *out_name, const struct mt_page_content *content)
{
    char *page = are_fit(content) ? read_empty() : NULL;
    if (!page)
        return MT_EXIT_BAD;
    char *rest = strstr(page, mark);
    fwrite(page, 1, (size_t)(rest - page), out);
    int code = put_texts(out, content);
    for (int i = 0; i < content->n && !code; i++)
        code = put_trace(out, content, i);
    fputs(rest + strlen(mark), out);
    free(page);
    if (!code && (fflush(out) || ferror(out)))
        code = mt_fail("%s: %s", out_name, strerror(errno));
    return code;
}

int mt_temporary_page(char path[PATH_MAX])
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/memtap-XXXXXX.html", folder && *folder ? folder : "/tmp");
    return mkostemps(path, 5, O_CLOEXEC);
}

static int save_temporary(const struct mt_page_content *content, char made[PATH_MAX])
{
    int fd = mt_temporary_page(made);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out)
        return mt_fail("%s: %s", made, strerror(errno));
    int code = write_page(out, made, content);
    if (fclose(out) && !code)
        code = mt_fail("%s: %s", made, strerror(errno));
    if (code)
        unlink(made);
    return code;
}

int mt_save_page(const char *output, const struct mt_page_content *content, char made[PATH_MAX])
{
    struct mt_new_file file;
    if (!output)
        return save_temporary(content, made);
    int rc = mt_new_file_open(&file, output, MT_FILE_AS_INPUTS);
    FILE *out = rc ? NULL : mt_new_file_stream(&file);
    int code = out ? write_page(out, output, content) : 0;
    if (!rc)
        rc = mt_new_file_close(&file, out, code ? -ECANCELED : 0);
    return rc && !code ? mt_fail("%s: %s", output, mt_output_error(rc)) : code;
}

/* Replace a text, which occurs once. */
static void put_instead(FILE *out, const char **page, const char *old, const char *new)
{
    const char *at = strstr(*page, old);
    if (!at)
        return;
    fwrite(*page, 1, (size_t)(at - *page), out);
    fputs(new, out);
    *page = at + strlen(old);
}

char *mt_live_page_text(void)
{
    char *page = read_empty(), *text = NULL;
    const char *rest = page;
    size_t size;
    FILE *out = page ? open_memstream(&text, &size) : NULL;
    if (!out) {
        free(page);
        return NULL;
    }
    /* a page in a file needs no connection; this page asks its server */
    put_instead(out, &rest, "default-src 'none';", "default-src 'none'; connect-src 'self';");
    put_instead(out, &rest, mark, "<meta id=\"live\">");
    fputs(rest, out);
    free(page);
    if (!mt_close_memory(out))
        return text;
    free(text);
    return NULL;
}
