/* SPDX-License-Identifier: Apache-2.0 */
/* The families of metrics: one table, each row once. */
#include "openmetrics.h"
#include "sample-line.h"

/* Where a family's sample goes. */
struct place {
    FILE *out;
    const char *family, *suffix;
    const struct mt_figures *figures;
    const struct mt_device_figures *device; /* NULL: a family of whole traces */
};

static void put(const struct place *at, const struct mt_own_label *labels, uint64_t value)
{
    mt_sample_count(at->out, at->family, at->suffix, at->figures, at->device, labels, value);
}

static void put_time(const struct place *at, uint64_t ns)
{
    char text[48];
    snprintf(text, sizeof text, "%llu.%09llu", (unsigned long long)(ns / 1000000000u),
             (unsigned long long)(ns % 1000000000u));
    mt_sample_line(at->out, at->family, at->suffix, at->figures, at->device, NULL, text);
}

static void put_process(const struct place *at)
{
    const struct mt_figures *figures = at->figures;
    put(at,
        (const struct mt_own_label[]){
            {"host", figures->host}, {"pid", figures->pid}, {"command", figures->command}, {0}},
        1);
}

static void put_state(const struct place *at)
{
    for (int how = 0; how < MT_ENDED_COUNT; how++)
        put(at,
            (const struct mt_own_label[]){{"state", mt_ended_name((enum mt_ended_how)how)}, {0}},
            at->figures->ended.how == (enum mt_ended_how)how);
}

static void put_length(const struct place *at)
{
    put_time(at, at->figures->length_ns);
}

static void put_last_event(const struct place *at)
{
    if (at->figures->start_ns)
        put_time(at, at->figures->start_ns + at->figures->length_ns);
}

static void put_parts(const struct place *at, const struct mt_by_category *parts)
{
    for (unsigned i = 0; i < mt_n_categories; i++)
        put(at, (const struct mt_own_label[]){{"category", mt_categories[i].name}, {0}},
            parts->category[i]);
    put(at, (const struct mt_own_label[]){{"category", "before_recording"}, {0}}, parts->unseen);
}

static void put_categories(const struct place *at)
{
    put_parts(at, &at->device->at_now);
}

static void put_peak_categories(const struct place *at)
{
    if (at->device->has_peak_parts)
        put_parts(at, &at->device->at_peak);
}

static void put_phases(const struct place *at)
{
    for (int phase = 0; phase < 4; phase++)
        if (at->device->phase_peak[phase])
            put(at, (const struct mt_own_label[]){{"phase", mt_phase_names[phase].name}, {0}},
                at->device->phase_peak[phase]);
}

/* Families of one number, each with when it is known. */
#define NUMBER(name, is_known, number)                                                             \
    static void put_##name(const struct place *at)                                                 \
    {                                                                                              \
        if (is_known)                                                                              \
            put(at, NULL, number);                                                                 \
    }
NUMBER(exit_code, at->figures->ended.exit_code >= 0, (uint64_t)at->figures->ended.exit_code)
NUMBER(signal, at->figures->ended.signal, (uint64_t)at->figures->ended.signal)
NUMBER(ooms, true, at->figures->ooms)
NUMBER(events, true, at->figures->events)
NUMBER(lost, true, at->figures->lost)
NUMBER(allocated, true, at->device->now.allocated)
NUMBER(reserved, !at->device->of_cuda, at->device->now.reserved)
NUMBER(peak, true, at->device->peak.allocated)
NUMBER(peak_reserved, !at->device->of_cuda, at->device->peak.reserved)
NUMBER(most_reserved, !at->device->of_cuda, at->device->most_reserved)
NUMBER(iterations, true, at->device->iterations)
NUMBER(growth, at->device->iterations >= MT_GROWTH_ITERATIONS, at->device->growth)
NUMBER(card, at->device->sample.time_ns, at->device->sample.total)
NUMBER(card_free, at->device->sample.time_ns, at->device->sample.free)
NUMBER(others, at->device->sample.time_ns, at->device->sample.others)

enum type { GAUGE, COUNTER };

/* Names end with their unit. A counter's samples have _total. */
static const struct family {
    const char *name;
    enum type type;
    const char *unit; /* "": none */
    bool of_device;
    void (*put)(const struct place *at);
    const char *help;
} families[] = {
    {"memtap_process", GAUGE, "", false, put_process, "The recorded process; always 1."},
    {"memtap_run_state", GAUGE, "", false, put_state,
     "1 for how the run ended, or running; 0 for the other states."},
    {"memtap_exit_code", GAUGE, "", false, put_exit_code,
     "The program's exit code, where it is known."},
    {"memtap_exit_signal", GAUGE, "", false, put_signal,
     "The signal that killed the program, where it is known."},
    {"memtap_out_of_memory", COUNTER, "", false, put_ooms,
     "How often memory ran out, caught by the program or not."},
    {"memtap_events", COUNTER, "", false, put_events, "Events in the trace."},
    {"memtap_lost_events", COUNTER, "", false, put_lost,
     "Events that happened and were not recorded, as far as known."},
    {"memtap_recorded_seconds", GAUGE, "seconds", false, put_length, "Length of the recording."},
    {"memtap_last_event_timestamp_seconds", GAUGE, "seconds", false, put_last_event,
     "Time of the last event, since 1970."},
    {"memtap_allocated_bytes", GAUGE, "bytes", true, put_allocated,
     "Allocated at the last event, by PyTorch's allocator, or by CUDA where the program does not "
     "use that."},
    {"memtap_reserved_bytes", GAUGE, "bytes", true, put_reserved,
     "Reserved at the last event by PyTorch's allocator."},
    {"memtap_category_allocated_bytes", GAUGE, "bytes", true, put_categories,
     "Allocated at the last event, by what it is for; their sum is memtap_allocated_bytes."},
    {"memtap_peak_allocated_bytes", GAUGE, "bytes", true, put_peak, "The most that was allocated."},
    {"memtap_peak_reserved_bytes", GAUGE, "bytes", true, put_peak_reserved,
     "Reserved when the most was allocated."},
    {"memtap_most_reserved_bytes", GAUGE, "bytes", true, put_most_reserved,
     "The most that was reserved."},
    {"memtap_peak_category_allocated_bytes", GAUGE, "bytes", true, put_peak_categories,
     "Allocated at the peak, by what it is for; their sum is memtap_peak_allocated_bytes."},
    {"memtap_phase_peak_allocated_bytes", GAUGE, "bytes", true, put_phases,
     "The most that was allocated in a phase, with the program's own code after it."},
    {"memtap_iterations", COUNTER, "", true, put_iterations,
     "Iterations of training that have begun."},
    {"memtap_growth_per_iteration_bytes", GAUGE, "bytes", true, put_growth,
     "What each iteration leaves behind; 0: nothing. Unknown, and not there, before the fifth "
     "iteration."},
    {"memtap_card_size_bytes", GAUGE, "bytes", true, put_card,
     "The card's memory, by its last sample."},
    {"memtap_card_free_bytes", GAUGE, "bytes", true, put_card_free,
     "Free on the card, by its last sample."},
    {"memtap_card_others_bytes", GAUGE, "bytes", true, put_others,
     "Used by other processes on the card, by its last sample."},
};

static void write_family(FILE *out, const struct family *family, const struct mt_figures *figures,
                         size_t n)
{
    const char *suffix = family->type == COUNTER ? "_total" : "";
    fprintf(out, "# TYPE %s %s\n", family->name, family->type == COUNTER ? "counter" : "gauge");
    if (*family->unit)
        fprintf(out, "# UNIT %s %s\n", family->name, family->unit);
    fprintf(out, "# HELP %s %s\n", family->name, family->help);
    for (size_t i = 0; i < n; i++) {
        struct place at = {out, family->name, suffix, &figures[i], NULL};
        if (!family->of_device)
            family->put(&at);
        for (size_t j = 0; family->of_device && j < figures[i].n_devices; j++) {
            at.device = &figures[i].devices[j];
            family->put(&at);
        }
    }
}

void mt_openmetrics_write(FILE *out, const struct mt_figures *figures, size_t n)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        write_family(out, &families[i], figures, n);
    fputs("# EOF\n", out);
}
