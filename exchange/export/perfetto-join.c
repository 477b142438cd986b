/* SPDX-License-Identifier: Apache-2.0 */
/* What torch.profiler recorded of the same run, as tracks next to memtap's. perfetto-nsight.c does
 * the same for Nsight Systems. */
#include "perfetto-join.h"
#include "analyzer/support/guard.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct joining {
    struct mt_perfetto *to;
    struct mt_texts tracks; /* "pid" and "pid/tid" */
    uint64_t *track;        /* by place; 0: not yet */
    size_t track_capacity;
    char **name; /* by place; NULL if it has none */
    size_t name_capacity;
    uint64_t near_ns;
    bool is_far; /* times that cannot be those of the run */
    uint64_t events;
};

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

/* Return the place of "1234" or "1234/5678"; pids may be texts. */
static int place_of(struct joining *joining, const json_t *event, bool is_thread, uint32_t *place)
{
    char key[160], ids[2][64];
    for (int i = 0; i < 2; i++) {
        const json_t *id = json_object_get(event, i ? "tid" : "pid");
        if (json_is_string(id))
            snprintf(ids[i], sizeof ids[i], "%.60s", json_string_value(id));
        else
            snprintf(ids[i], sizeof ids[i], "%" PRId64, (int64_t)json_integer_value(id));
    }
    snprintf(key, sizeof key, is_thread ? "%s/%s" : "%s", ids[0], ids[1]);
    int rc = mt_texts_add(&joining->tracks, key, place);
    if (!rc)
        rc = MT_GROW(joining->track, joining->track_capacity, (size_t)*place);
    if (!rc)
        rc = MT_GROW(joining->name, joining->name_capacity, (size_t)*place);
    return rc;
}

/* Collect the names of processes and threads in a first pass. */
static int learn(void *data, const json_t *event, uint64_t base_ns)
{
    struct joining *joining = data;
    (void)base_ns;
    const char *what = text_of(event, "name"),
               *name = text_of(json_object_get(event, "args"), "name");
    const char *labels = text_of(json_object_get(event, "args"), "labels");
    bool is_process = !strcmp(what, "process_name") || !strcmp(what, "process_labels");
    uint32_t place;
    if (strcmp(text_of(event, "ph"), "M") || (!is_process && strcmp(what, "thread_name")))
        return 0;
    if (place_of(joining, event, !is_process, &place))
        return -ENOMEM;
    char *before = joining->name[place], *now = NULL;
    bool adds = before && is_process; /* its labels: "python CPU" */
    if (asprintf(&now, "%s%s%s", adds ? before : "", adds ? " " : "", *labels ? labels : name) < 0)
        return -ENOMEM;
    free(before);
    joining->name[place] = now;
    return 0;
}

static uint64_t track_of(struct joining *joining, const json_t *event)
{
    uint32_t process, thread;
    char name[400];
    if (place_of(joining, event, false, &process) || place_of(joining, event, true, &thread)) {
        joining->to->rc = -ENOMEM;
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        uint32_t place = i ? thread : process;
        if (joining->track[place])
            continue;
        const char *id = joining->tracks.text[place], *slash = strchr(id, '/');
        snprintf(name, sizeof name, "%s%.200s %.100s", i ? "" : "profiler: ",
                 joining->name[place] ? joining->name[place]
                 : i                  ? "thread"
                                      : "process",
                 joining->name[place] && i ? ""
                 : i && slash              ? slash + 1
                                           : id);
        joining->track[place] =
            mt_perfetto_track(joining->to, i ? joining->track[process] : 0, name);
    }
    return joining->track[thread];
}

static void add_fields(struct mt_perfetto *to, const json_t *event)
{
    const char *key;
    json_t *value;
    mt_perfetto_add_text(to, "category", text_of(event, "cat"));
    json_object_foreach(json_object_get(event, "args"), key, value)
    {
        if (json_is_string(value) && json_string_length(value) < 200)
            mt_perfetto_add_text(to, key, json_string_value(value));
        else if (json_is_integer(value) && json_integer_value(value) >= 0)
            mt_perfetto_add_number(to, key, (uint64_t)json_integer_value(value));
    }
}

/* Convert us to ns. Older releases write whole us, which a double would not hold exactly as ns. */
static uint64_t to_ns(const json_t *us)
{
    double value = json_number_value(us);
    if (json_is_integer(us) && json_integer_value(us) > 0)
        return (uint64_t)json_integer_value(us) * 1000;
    return value > 0 && value < 1e16 ? (uint64_t)(value * 1000) : 0;
}

/* Accept complete events and instants; flows and counters are not imported. */
static int take(void *data, const json_t *event, uint64_t base_ns)
{
    struct joining *joining = data;
    struct mt_perfetto *to = joining->to;
    const char *kind = text_of(event, "ph");
    bool is_complete = !strcmp(kind, "X");
    if (!is_complete && strcmp(kind, "i") && strcmp(kind, "I"))
        return 0;
    uint64_t begin = base_ns + to_ns(json_object_get(event, "ts"));
    if (!mt_perfetto_is_near(joining->near_ns, begin)) {
        joining->is_far = true;
        return -EINVAL;
    }
    uint64_t track = track_of(joining, event);
    mt_perfetto_begin_event(to, is_complete ? MT_PERFETTO_BEGIN : MT_PERFETTO_INSTANT, track,
                            text_of(event, "name"));
    add_fields(to, event);
    mt_perfetto_end_event(to, begin);
    if (is_complete)
        mt_perfetto_event(to, MT_PERFETTO_END, track, NULL,
                          begin + to_ns(json_object_get(event, "dur")));
    joining->events++;
    return to->rc ? to->rc : to->sink->rc;
}

static int fail(struct mt_export_error *error, const char *path, const struct joining *joining,
                int rc)
{
    if (joining->to->rc || joining->to->sink->rc || rc == -ENOMEM)
        return rc;
    error->path = path;
    snprintf(error->text, sizeof error->text, "%s",
             joining->is_far ? mt_perfetto_why_far(joining->near_ns)
             : rc == -EINVAL
                 ? "neither torch.profiler's JSON nor Nsight Systems' SQLite export, or damaged"
             : rc ? strerror(-rc)
                  : "it contains no events; give a trace of torch.profiler (export_chrome_trace)");
    return rc ? rc : -EINVAL;
}

static int join_json(struct mt_perfetto *to, const char *path, uint64_t near_ns,
                     struct mt_export_error *error)
{
    struct joining joining = {.to = to, .near_ns = near_ns};
    int rc = mt_join_json(path, learn, take, &joining);
    if (rc || !joining.events)
        rc = fail(error, path, &joining, rc);
    for (size_t i = 0; i < joining.name_capacity; i++)
        free(joining.name[i]);
    free(joining.name);
    free(joining.track);
    mt_texts_clear(&joining.tracks);
    return rc;
}

static bool is_database(const char *path)
{
    static const char begin[] = "SQLite format 3";
    char head[sizeof begin] = "";
    mt_input_note(path);
    FILE *file = fopen(path, "rbe");
    bool is_complete = file && fread(head, 1, sizeof head, file) == sizeof head;
    if (file)
        fclose(file);
    return is_complete && !memcmp(head, begin, sizeof begin);
}

int mt_perfetto_join(struct mt_perfetto *to, const char *path, uint64_t near_ns,
                     struct mt_export_error *error)
{
    mt_perfetto_sequence(to, near_ns);
    to->is_apart = true;
    int rc = is_database(path) ? mt_perfetto_join_nsight(to, path, near_ns, error)
                               : join_json(to, path, near_ns, error);
    to->is_apart = false;
    return rc;
}
