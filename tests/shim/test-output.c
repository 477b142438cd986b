/* SPDX-License-Identifier: Apache-2.0 */
/* Where traces go, and what is said where they cannot. */
#include "harness.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(new_segments_find_their_directory)
{
    struct outcome o =
        run(ARGS("goes-elsewhere", "800000"), ARGS("MEMTAP_KEEP=1M", "MEMTAP_OUTPUT=t"));
    ck_assert(ended_with(&o, 0));
    ck_assert_ptr_null(strstr(o.errors, "cannot"));
    ck_assert_int_eq(o.n_files, 2);
    ck_assert_str_eq(o.file[0], "t");
    ck_assert_str_eq(o.file[1], "t.0");
    remove_outcome(&o);
}
END_TEST

/* A process that was killed while it began a segment leaves t.new; or it is somebody else's. */
static const struct {
    const char *what;
    int is_removed;
    int n_files;
} leftovers[] = {{"\x89MTAP\r\n\x1a of before", 1, 2},
                 {"", 1, 2},
                 {"somebody's notes", 0, 3},
                 {"/", 0, 3},
                 {"->", 0, 4}};

START_TEST(a_segment_that_was_left_over_is_no_obstacle)
{
    char path[600];
    struct outcome o = run(ARGS("goes-elsewhere", "800000", leftovers[_i].what),
                           ARGS("MEMTAP_KEEP=1M", "MEMTAP_OUTPUT=t"));
    ck_assert(ended_with(&o, 0));
    ck_assert_ptr_null(strstr(o.errors, "cannot"));
    ck_assert_str_eq(o.file[0], "t");
    ck_assert_str_eq(o.file[1], "t.0");
    ck_assert_int_eq(o.n_files > 2 && !strcmp(o.file[2], "t.new"), !leftovers[_i].is_removed);
    ck_assert_int_eq(o.n_files, leftovers[_i].n_files);
    snprintf(path, sizeof path, "%s/t.new", o.directory);
    rmdir(path);
    remove_outcome(&o);
}
END_TEST

static unsigned mode_of(const struct outcome *o, const char *name)
{
    char path[600];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", o->directory, name);
    return stat(path, &status) ? 0 : status.st_mode & 0777;
}

/* A shared job's traces can be read by its group; a wrong value is said and changes nothing. */
START_TEST(permissions_are_the_umasks_or_as_requested)
{
    static const struct {
        const char *setting;
        unsigned mode;
        bool is_wrong;
    } cases[] = {{"MEMTAP_MODE=", 0640, false},
                 {"MEMTAP_MODE=664", 0664, false},
                 {"MEMTAP_MODE=600", 0600, false},
                 {"MEMTAP_MODE=044", 0640, true}};
    mode_t before = umask(027);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o = run(ARGS("goes-elsewhere", "800000"),
                               ARGS("MEMTAP_KEEP=1M", "MEMTAP_OUTPUT=t", cases[i].setting));
        ck_assert(ended_with(&o, 0));
        ck_assert_uint_eq(mode_of(&o, "t"), cases[i].mode);
        ck_assert_uint_eq(mode_of(&o, "t.0"), cases[i].mode);
        ck_assert_int_eq(strstr(o.errors, "MEMTAP_MODE '044' is not a file mode") != NULL,
                         cases[i].is_wrong);
        remove_outcome(&o);
    }
    umask(before);
}
END_TEST

START_TEST(a_name_that_is_taken_gets_a_suffix)
{
    struct outcome o = run(ARGS("fork-child", "cuda"), ARGS("MEMTAP_QUIET=1", "MEMTAP_OUTPUT=one"));
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(o.n_files, 2);
    ck_assert_str_eq(o.file[0], "one");
    ck_assert_str_eq(o.file[1], "one.1");
    ck_assert_str_eq(o.errors, "memtap: one exists; writing one.1\n");
    ck_assert(read_counts(&o, "one").is_complete);
    ck_assert(read_counts(&o, "one.1").is_complete);
    remove_outcome(&o);
}
END_TEST

/* Folders and globs of *.mtap find it. */
START_TEST(a_suffix_comes_before_the_extension)
{
    struct outcome o =
        run(ARGS("fork-child", "cuda"), ARGS("MEMTAP_QUIET=1", "MEMTAP_OUTPUT=leak2.mtap"));
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(o.n_files, 2);
    ck_assert_str_eq(o.file[0], "leak2.1.mtap");
    ck_assert_str_eq(o.file[1], "leak2.mtap");
    ck_assert_str_eq(o.errors, "memtap: leak2.mtap exists; writing leak2.1.mtap\n");
    ck_assert(read_counts(&o, "leak2.1.mtap").is_complete);
    remove_outcome(&o);
}
END_TEST

/* As /etc/passwd. An empty file may be mktemp's. */
START_TEST(a_file_that_is_no_trace_gets_no_neighbour)
{
    static const char *const contents[] = {"root:x:0:0", "root", ""};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        bool is_refused = *contents[i];
        char path[] = "/tmp/memtap-other-XXXXXX", variable[64], beside[64];
        int fd = mkstemp(path);
        ck_assert(fd >= 0 && write(fd, contents[i], strlen(contents[i])) >= 0 && !close(fd));
        snprintf(variable, sizeof variable, "MEMTAP_OUTPUT=%s", path);
        snprintf(beside, sizeof beside, "%s.1", path);
        struct outcome o = run(ARGS("fork-child", "plain"), ARGS("MEMTAP_QUIET=1", variable));
        ck_assert(ended_with(&o, 0));
        ck_assert_int_eq(strstr(o.errors, "the file exists and is not a memtap trace;") != NULL,
                         is_refused);
        ck_assert_int_eq(!unlink(beside), !is_refused);
        unlink(path);
        remove_outcome(&o);
    }
}
END_TEST

START_TEST(a_missing_directory_is_said_once)
{
    struct outcome o =
        run(ARGS("alloc-threads", "2", "100000"), ARGS("MEMTAP_OUTPUT=no/such/place"));
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(o.n_files, 0);
    ck_assert_str_eq(o.errors, "memtap: cannot create no/such/place: No such file or directory; "
                               "recording stopped, the program continues\n");
    remove_outcome(&o);
}
END_TEST

/* Not /dev/null.1. */
START_TEST(what_is_no_file_is_refused)
{
    static const char *const names[] = {"/dev/null", "/dev/stdin"};
    char variable[64], errors[256];
    snprintf(variable, sizeof variable, "MEMTAP_OUTPUT=%s", names[_i]);
    snprintf(errors, sizeof errors,
             "memtap: cannot create %s: it is a directory, a device or a pipe; give a file; "
             "recording stopped, the program continues\n",
             names[_i]);
    int ends[2];
    ck_assert(!pipe(ends) && dup2(ends[0], 0) == 0);
    struct outcome o = run(ARGS("fork-child", "plain"), ARGS(variable));
    int is_made = !unlink("/dev/null.1");
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, errors);
    ck_assert_int_eq(o.n_files, 0);
    ck_assert(!is_made);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_folder_gets_the_name_of_the_default)
{
    struct outcome o = run(ARGS("fork-child", "code"),
                           ARGS("MEMTAP_QUIET=1", _i ? "MEMTAP_OUTPUT=./" : "MEMTAP_OUTPUT=."));
    ck_assert(ended_with(&o, 7));
    ck_assert_str_eq(o.errors, "");
    ck_assert_int_eq(o.n_files, 1);
    ck_assert_ptr_eq(strstr(o.file[0], "memtap-fork-child-"), o.file[0]);
    remove_outcome(&o);
}
END_TEST

static bool has_tail(const struct outcome *outcome)
{
    int n = outcome->n_files;
    return n && strstr(outcome->file[n - 1], ".tail");
}

START_TEST(a_full_disk_ends_the_trace_only)
{
    /* The limit on file sizes stands for the disk: the same path, another errno. */
    struct rlimit limit = {200000, 200000};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct outcome o = run(ARGS("alloc-threads", "2", "100000"), ARGS("MEMTAP_OUTPUT=t.mtap"));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "memtap: cannot write t.mtap: File too large; recording stopped, "
                               "the program continues\n");
    struct counts c = read_counts(&o, "t.mtap");
    ck_assert(!c.is_complete);
    ck_assert_int_eq(c.state, has_tail(&o) ? MT_TRACE_STOPPED : MT_TRACE_OPEN);
    ck_assert_uint_gt(c.kind[MT_CUDA_MALLOC], 1000);
    remove_outcome(&o);
}
END_TEST

/* 100,000 pairs take more than one of these files, and less than two. */
START_TEST(a_bounded_trace_goes_on_when_there_is_room)
{
    const char *light = _i ? "MEMTAP_LIGHT=1" : "MEMTAP_LIGHT=0";
    struct rlimit limit = {200000, 200000};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct outcome o = run(ARGS("alloc-threads", "1", "100000"),
                           ARGS("MEMTAP_KEEP=100M", "MEMTAP_OUTPUT=t.mtap", light));
    ck_assert(ended_with(&o, 0));
    struct counts c = read_counts(&o, "t.mtap");
    char errors[400], lost[40];
    snprintf(errors, sizeof errors,
             "memtap: cannot write t.mtap: File too large; events are dropped and counted until "
             "there is room\nmemtap: ");
    ck_assert_mem_eq(o.errors, errors, strlen(errors));
    snprintf(lost, sizeof lost, " events (and %" PRIu64 " lost) in ", c.lost);
    ck_assert_ptr_nonnull(strstr(o.errors, lost));
    ck_assert(c.is_complete);
    ck_assert_uint_gt(c.lost, 0);
    ck_assert_uint_gt(c.kind[MT_CUDA_MALLOC], 50000);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC] + c.kind[MT_CUDA_FREE] + c.lost, 200000);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_trace_that_has_gone_is_not_said_to_be_there)
{
    struct outcome o =
        run(ARGS("fork-child", "renamed"), ARGS("MEMTAP_QUIET=1", "MEMTAP_OUTPUT=t.mtap"));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "memtap: 5 events recorded, but t.mtap was renamed "
                               "meanwhile\n");
    ck_assert_int_eq(o.n_files, 1);
    ck_assert_uint_eq(read_counts(&o, "other.mtap").kind[MT_CUDA_MALLOC], 5);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_closed_descriptor_is_left_alone)
{
    struct outcome o = run(ARGS("fork-child", "close"), ARGS("MEMTAP_OUTPUT=t.mtap"));
    ck_assert(ended_with(&o, 0));
    ck_assert_ptr_nonnull(strstr(o.errors, "the program closed memtap's file"));
    ck_assert_int_eq(o.n_files, 3);
    ck_assert_str_eq(o.file[2], "t.mtap.tail"); /* what could not be written */
    char path[600], byte;
    snprintf(path, sizeof path, "%s/other", o.directory);
    FILE *other = fopen(path, "r");
    ck_assert_uint_eq(fread(&byte, 1, 1, other), 0);
    fclose(other);
    read_counts(&o, "t.mtap");
    remove_outcome(&o);
}
END_TEST

/* What a program may have, and where memtap's begin. */
static const struct {
    const char *limit;
    int lowest;
} descriptors[] = {{"1024", 992}, {"300", 268}, {"100", 68}, {"20", 3}};

START_TEST(descriptors_are_high_and_not_inherited)
{
    int n = 0, lowest = 0, inherited = 0;
    struct outcome o = run(ARGS("fork-child", "descriptors", descriptors[_i].limit),
                           ARGS("MEMTAP_QUIET=1", "MEMTAP_OUTPUT=t.mtap"));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "");
    ck_assert_int_eq(sscanf(o.output, "%d %d %d", &n, &lowest, &inherited), 3);
    ck_assert_int_ge(n, 1);
    ck_assert_int_le(n, 2);
    ck_assert_int_ge(lowest, descriptors[_i].lowest);
    ck_assert_int_eq(inherited, 0);
    has_complete_trace(&o, 5);
}
END_TEST

START_TEST(the_last_descriptors_are_the_program_s)
{
    struct outcome o = run(ARGS("fork-child", "descriptors", "6"), ARGS("MEMTAP_OUTPUT=t.mtap"));
    ck_assert(ended_with(&o, 0));
    ck_assert_ptr_nonnull(strstr(o.errors, "Too many open files"));
    ck_assert_str_eq(o.output, "0 0 0\n");
    ck_assert_int_eq(o.n_files, 0);
    remove_outcome(&o);
}
END_TEST

/* In pages: none, the header, in the journal, in the first thread's words, in the second's. */
static const char *const cuts[] = {"0", "4096", "20480", "1572864", "3500000"};

START_TEST(a_tail_that_is_cut_short_ends_the_trace_only)
{
    static const char *const modes[] = {"cut", "chain", "fatal", "handled"};
    struct outcome o = run(ARGS("bus-errors", modes[_i % 4], cuts[_i / 4]),
                           ARGS("MEMTAP_OUTPUT=t.mtap", "MEMTAP_STACKS=both"));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "memtap: cannot write t.mtap: its tail was truncated, or the disk "
                               "failed; recording stopped, the program continues\n");
    ck_assert_str_eq(o.file[0], "t.mtap");
    remove_outcome(&o);
}
END_TEST

static const struct {
    const char *mode;
    int signal, code; /* that it ends by */
    const char *said;
} bus_errors[] = {{"own", SIGBUS, 0, ""},
                  {"sent", SIGBUS, 0, ""},
                  {"own-handled", 0, 42, ""},
                  {"sent-handled", 0, 42, ""},
                  {"own-fatal", SIGBUS, 0, "fatal\n"},
                  {"sent-fatal", SIGBUS, 0, "fatal\n"}};

START_TEST(other_bus_errors_are_the_program_s)
{
    struct outcome o = run(ARGS("bus-errors", bus_errors[_i].mode),
                           ARGS("MEMTAP_OUTPUT=t.mtap", "MEMTAP_QUIET=1"));
    if (bus_errors[_i].signal)
        ck_assert(WIFSIGNALED(o.status) && WTERMSIG(o.status) == bus_errors[_i].signal);
    else
        ck_assert(ended_with(&o, bus_errors[_i].code));
    ck_assert_str_eq(o.errors, bus_errors[_i].said);
    remove_outcome(&o);
}
END_TEST

/* Nobody reads it. */
START_TEST(a_manifest_that_is_a_fifo_is_not_waited_for)
{
    char folder[] = "/tmp/memtap-manifest-XXXXXX", path[64], variable[96];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    snprintf(variable, sizeof variable, "MEMTAP_ROSTER=%s", path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    struct outcome o = run(ARGS("fork-child", "plain"), ARGS(variable));
    ck_assert_ptr_nonnull(strstr(o.errors, " events in ")); /* memtap run cannot say it */
    ck_assert_int_eq(read_counts(&o, o.file[0]).is_complete, 1);
    remove_outcome(&o);
    unlink(path);
    rmdir(folder);
}
END_TEST

START_TEST(a_wrong_setting_is_said_and_passed_over)
{
    struct outcome o =
        run(ARGS("fork-child", "code"),
            ARGS("MEMTAP_QUIET=1", "MEMTAP_STACKS=pyton", "MEMTAP_CUPTI=x", "MEMTAP_LEVEL=99",
                 "MEMTAP_KEEP=99999999999999999999", "MEMTAP_OUTPUT=x%x",
                 "MEMTAP_LIMIT_EVENTS=00000000000000000000000000000000000000000000000"
                 "00000000000000001"));
    ck_assert(ended_with(&o, 7));
    ck_assert_str_eq(
        o.errors,
        "memtap: MEMTAP_OUTPUT 'x%x' has an unknown % sequence; use %p, %e, %h, %r or %% "
        "(using memtap-%e-%p.mtap)\n"
        "memtap: unknown value of MEMTAP_STACKS 'pyton'; did you mean 'python'? (using auto)\n"
        "memtap: MEMTAP_KEEP '99999999999999999999' is too large (using all)\n"
        "memtap: unknown value of MEMTAP_CUPTI 'x'; use auto, on or off (using auto)\n"
        "memtap: MEMTAP_LEVEL '99' is not a zstd level; give one from 1 to 19 (using 1)\n"
        "memtap: MEMTAP_LIMIT_EVENTS is longer than 63 characters (using none)\n");
    ck_assert_int_eq(o.n_files, 1);
    ck_assert_ptr_eq(strstr(o.file[0], "memtap-fork-child-"), o.file[0]);
    remove_outcome(&o);
}
END_TEST

static size_t take_manifest(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t n = fread(text, 1, size, file);
    fclose(file);
    unlink(path);
    return n;
}

START_TEST(the_manifest_names_the_trace)
{
    char manifest[] = "/tmp/memtap-manifest-XXXXXX", variable[64], text[512];
    close(mkstemp(manifest));
    snprintf(variable, sizeof variable, "MEMTAP_ROSTER=%s", manifest);
    struct outcome o = run(ARGS("fork-child", "plain"), ARGS(variable, "MEMTAP_OUTPUT=%e-%%.mtap"));
    ck_assert_str_eq(o.errors, "");
    ck_assert_str_eq(o.file[0], "fork-child-%.mtap");
    size_t n = take_manifest(manifest, text, sizeof text);
    const char *name = strstr(text, "/fork-child-%.mtap"), *second = text + strlen(text) + 1;
    ck_assert_ptr_nonnull(name);
    ck_assert_str_eq(name, "/fork-child-%.mtap");
    ck_assert_int_eq(text[0], '/');
    ck_assert_uint_eq(n, (size_t)(second - text) + strlen(second) + 1);
    ck_assert_ptr_nonnull(strstr(second, text)); /* after its processor time */
    remove_outcome(&o);
}
END_TEST

/* So that memtap run does not say that no process used CUDA. */
START_TEST(the_manifest_knows_of_a_trace_that_could_not_be_created)
{
    static const struct {
        unsigned size; /* of the name */
        const char *said;
    } names[] = {{1, "cannot create no/x"},
                 {300, ": File name too long; recording stopped, the program continues\n"},
                 {3000, ": File name too long; recording stopped, the program continues\n"},
                 {4080, "cannot record: File name too long; continuing without recording\n"}};
    char manifest[] = "/tmp/memtap-manifest-XXXXXX", variable[64], output[4200], text[512];
    close(mkstemp(manifest));
    snprintf(variable, sizeof variable, "MEMTAP_ROSTER=%s", manifest);
    int n = snprintf(output, sizeof output, "MEMTAP_OUTPUT=%s", _i ? "" : "no/");
    memset(output + n, 'x', names[_i].size);
    output[n + (int)names[_i].size] = '\0';
    struct outcome o = run(ARGS("fork-child", "plain"), ARGS(variable, output));
    ck_assert(ended_with(&o, 0));
    ck_assert_msg(strstr(o.errors, names[_i].said) != NULL, "%s", o.errors);
    ck_assert_uint_ge(take_manifest(manifest, text, sizeof text), 1);
    ck_assert_str_eq(text, "");
    remove_outcome(&o);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("output");
    tcase_add_test(tests, new_segments_find_their_directory);
    tcase_add_loop_test(tests, a_segment_that_was_left_over_is_no_obstacle, 0,
                        sizeof leftovers / sizeof *leftovers);
    tcase_add_test(tests, permissions_are_the_umasks_or_as_requested);
    tcase_add_test(tests, a_name_that_is_taken_gets_a_suffix);
    tcase_add_test(tests, a_suffix_comes_before_the_extension);
    tcase_add_test(tests, a_file_that_is_no_trace_gets_no_neighbour);
    tcase_add_test(tests, a_missing_directory_is_said_once);
    tcase_add_loop_test(tests, a_folder_gets_the_name_of_the_default, 0, 2);
    tcase_add_loop_test(tests, what_is_no_file_is_refused, 0, 2);
    tcase_add_test(tests, a_full_disk_ends_the_trace_only);
    tcase_add_loop_test(tests, a_bounded_trace_goes_on_when_there_is_room, 0, 2);
    tcase_add_test(tests, a_closed_descriptor_is_left_alone);
    tcase_add_loop_test(tests, descriptors_are_high_and_not_inherited, 0,
                        sizeof descriptors / sizeof *descriptors);
    tcase_add_test(tests, the_last_descriptors_are_the_program_s);
    tcase_add_test(tests, a_trace_that_has_gone_is_not_said_to_be_there);
    tcase_add_loop_test(tests, a_tail_that_is_cut_short_ends_the_trace_only, 0,
                        4 * sizeof cuts / sizeof *cuts);
    tcase_add_loop_test(tests, other_bus_errors_are_the_program_s, 0,
                        sizeof bus_errors / sizeof *bus_errors);
    tcase_add_test(tests, a_wrong_setting_is_said_and_passed_over);
    tcase_add_test(tests, a_manifest_that_is_a_fifo_is_not_waited_for);
    tcase_add_test(tests, the_manifest_names_the_trace);
    tcase_add_loop_test(tests, the_manifest_knows_of_a_trace_that_could_not_be_created, 0, 4);
    return RUN_TESTS(tests);
}
