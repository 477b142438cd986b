/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "analyzer/support/text.h"
#include "commands.h"
#include "exchange/import/import.h"
#include "tools/memtap/terminal/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct mt_option mt_import_options[] = {
    {'o', "output", "TRACE", "write the trace to this file (default: NAME.mtap for\nNAME.pickle)",
     NULL, mt_note_text},
    MT_FORCE_OPTION,
    {0},
};

static void print_result(const char *output, const struct mt_import_summary *summary)
{
    char count[MT_SIZE_TEXT];
    mt_print_text(output);
    printf(": %s events imported; next: memtap report ", mt_count_text(count, summary->events));
    mt_print_text(output);
    putchar('\n');
    mt_import_notes(summary, stdout);
}

static int import(const char *path, const char *output)
{
    struct mt_import_summary summary;
    struct mt_import_error error;
    struct mt_new_file file;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", output);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    else
        strcpy(folder, ".");
    int rc = mt_new_file_open(&file, output, MT_FILE_AS_INPUTS);
    if (rc)
        return mt_fail("%s: cannot create: %s", output, mt_output_error(rc));
    *error.text = '\0';
    FILE *out = mt_new_file_stream(&file);
    rc = mt_new_file_close(&file, out,
                           out ? mt_import(path, out, folder, &summary, &error) : -errno);
    if (rc)
        return *error.text     ? mt_fail("%s: %s", path, error.text)
               : rc == -E2BIG  ? mt_fail_work(path)
               : rc == -ENOMEM ? mt_fail_trace(path, &(struct mt_trace_error){0})
                               : mt_fail("%s: cannot write: %s", output, mt_output_error(rc));
    print_result(output, &summary);
    return mt_finish_output(MT_EXIT_OK);
}

/* Choose a name: NAME.pickle becomes NAME.mtap in the current folder. Return 0, or -1 if the name
 * is too long. */
static int choose_name(char name[PATH_MAX], const char *path)
{
    const char *base = mt_last_part(path), *dot = strrchr(base, '.');
    int size = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    return snprintf(name, PATH_MAX, "%.*s.mtap", size, base) < PATH_MAX ? 0 : -1;
}

int mt_run_import(const struct mt_command *command, int argc, char **argv)
{
    const char *output, *path = mt_read_operand(command, argc, argv, "file", &output);
    char name[PATH_MAX];
    if (!path)
        return MT_EXIT_BAD;
    if (output && !strcmp(output, "-"))
        return mt_fail_usage(command,
                             "cannot write a trace to standard output; name a file with -o");
    if (!output) {
        if (choose_name(name, path))
            return mt_fail("%s: file name too long; name the output with -o", path);
        if (!access(name, F_OK))
            return mt_fail("%s: already exists; name another file with -o", name);
        output = name;
    }
    return import(path, output);
}
