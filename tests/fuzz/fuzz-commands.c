/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace that an input describes, as a file with right checksums, through a whole command line of
 * commands.txt, which the input chooses. It runs in a child of this process, which has the code of
 * all commands: no program is started. The command must end by itself with an exit code, and say in
 * a line what it refuses.
 */
#include "analyzer/support/write.h"
#include "made-trace.h"
#include "target.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES 256u
#define WORDS 24u
#define SECONDS 20u /* of the processor, for a command */

int __real_main(int argc, char **argv); /* memtap's: main.c stands in its place */

static char *lines[LINES], folder[] = "/tmp/memtap-commands-XXXXXX";
static size_t n_lines;
static pid_t parent;

/* What the command lines name, and what they make. */
static const struct {
    const char *path, *text;
} files[] = {
    {"budget.txt", "[limits]\npeak = \"1 MiB\"\ngrowth = \"1 KiB\"\n[category]\nevery = \"1 MiB\"\n"
                   "[module]\n\"*a*b\" = \"1 MiB\"\n[site]\n\"*a*:*b\" = \"1 MiB\"\n"},
    {"rules.txt", "category mine\nmine \"of a name\" file=*a*b function=*a*\n"
                  "inputs \"large\" size=1KiB.. phase=forward\n"},
    {"trace.mtap", ""},
    {"made", ""},
};
#define FILES (sizeof files / sizeof *files)

static void need(bool holds)
{
    if (!holds)
        abort();
}

/* Only the child goes into the folder: main.c writes what fails into its own. */
static const char *in_folder(const char *name)
{
    static char path[sizeof folder + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void remove_files(void)
{
    for (size_t i = 0; i < FILES && parent == getpid(); i++)
        unlink(in_folder(files[i].path));
    if (parent == getpid())
        rmdir(folder);
}

static void begin(void)
{
    static char text[1 << 15];
    FILE *list = fopen(MT_FUZZ_COMMANDS, "r");
    need(list != NULL);
    need(fread(text, 1, sizeof text - 1, list) < sizeof text - 1);
    fclose(list);
    for (char *line = strtok(text, "\n"); line && n_lines < LINES; line = strtok(NULL, "\n"))
        if (*line != '#')
            lines[n_lines++] = line;
    need(n_lines && mkdtemp(folder));
    for (size_t i = 0; i < FILES; i++) {
        FILE *file = fopen(in_folder(files[i].path), "w");
        need(file && fputs(files[i].text, file) >= 0 && !fclose(file));
    }
    parent = getpid();
    atexit(remove_files);
}

static void write_batch(FILE *out, struct mt_encoder *encoder, const struct mt_batch *batch)
{
    for (size_t i = 0; i < batch->n_definitions; i++)
        mt_write_definition(out, encoder, &batch->definitions[i]); /* or it can be in no trace */
    need(!mt_write_block(out, encoder));
    for (size_t i = 0; i < batch->n_events; i++)
        mt_write_event(out, encoder, &batch->events[i]);
    need(!mt_write_block(out, encoder));
}

static void write_trace(const struct mt_made_trace *trace)
{
    unsigned char header[MT_FILE_HEADER_SIZE];
    FILE *out = fopen(in_folder("trace.mtap"), "w");
    struct mt_encoder *encoder = mt_encoder_create(1);
    need(out && encoder);
    mt_encode_file_header(header, 4711, 0);
    mt_encoder_begin(encoder, 4711);
    need(!mt_write_bytes(out, header, sizeof header));
    for (size_t i = 0; i < trace->n_batches; i++)
        write_batch(out, encoder, &trace->batch[i]);
    if (trace->state == MT_TRACE_CLOSED)
        need(!mt_write_end(out, encoder, &trace->end));
    mt_encoder_destroy(encoder);
    if (trace->fault) /* the file ends early */
        need(!fflush(out) && !ftruncate(fileno(out), (off_t)(ftell(out) - ftell(out) / 8)));
    need(!fclose(out));
}

/* Split a line of the list into words, of memtap. */
static int split(char *line, char **words)
{
    static char memtap[] = "memtap", made[] = "made", trace[] = "trace.mtap";
    int n = 0;
    words[n++] = memtap;
    for (char *word = strtok(line, " "); word && n < (int)WORDS - 1; word = strtok(NULL, " "))
        words[n++] = !strcmp(word, "{}") ? trace : !strcmp(word, "{o}") ? made : word;
    words[n] = NULL;
    return n;
}

static int memory_file(void)
{
    int fd = memfd_create("output", MFD_CLOEXEC);
    need(fd >= 0);
    return fd;
}

static void run_child(const char *line, int out, int errors)
{
    char copy[1024], *words[WORDS];
    struct rlimit seconds = {SECONDS, SECONDS};
    snprintf(copy, sizeof copy, "%s", line);
    need(!chdir(folder) && !setrlimit(RLIMIT_CPU, &seconds) &&
         dup2(open("/dev/null", O_RDONLY), 0) == 0);
    need(dup2(out, 1) == 1 && dup2(errors, 2) == 2);
    exit(__real_main(split(copy, words), words));
}

/* Every line is memtap's own: none of a sanitizer, of a library or of the loader. */
static bool is_sound(int status, const char *said)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    for (const char *line = said; *line; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, "memtap", 6) != 0 || !strchr(line, '\n'))
            return false;
    }
    return code == 0 || code == 1 || (code == 2 && *said);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct mt_made_trace trace;
    static char said[1 << 16];
    uint32_t sum = 2166136261u;
    int status, out = memory_file(), errors = memory_file();
    if (!n_lines)
        begin();
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    const char *line = lines[sum % n_lines];
    if (!mt_made_trace_read(&trace, bytes, size)) {
        write_trace(&trace);
        fflush(NULL);
        pid_t child = fork();
        if (!child)
            run_child(line, out, errors);
        need(child > 0 && waitpid(child, &status, 0) == child);
        ssize_t n = pread(errors, said, sizeof said - 1, 0);
        said[n > 0 ? n : 0] = '\0';
        if (!is_sound(status, said)) {
            fprintf(stderr, "memtap %s: status %x: %s\n", line, (unsigned)status, said);
            remove_files();
            abort();
        }
        unlink(in_folder("made"));
    }
    close(out);
    close(errors);
    return 0;
}
