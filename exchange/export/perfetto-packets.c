/* SPDX-License-Identifier: Apache-2.0 */
#include "perfetto-packets.h"

#include <errno.h>

/* Fields of the messages. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCKS = 6,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60
};
enum {
    TRACK_NUMBER = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8
};
enum { EVENT_FIELD = 4, EVENT_TYPE = 9, EVENT_NAME = 10, EVENT_TRACK = 11, EVENT_VALUE = 30 };
enum { FIELD_NAME = 1, FIELD_NUMBER = 3, FIELD_TEXT = 17 };
enum { INTERNED_EVENT_NAME = 2, INTERNED_FIELD_NAME = 3, INTERNED_TEXT = 29 };
enum { CLOCK_OF_UNIX = 1, CLOCK_OF_TRACE = 6, CLOCK_OF_DIFFERENCES = 64 };
enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2, UNIT_BYTES = 3 };

#define MOST_TEXTS 65536u /* that a sequence defines */

/* Write the packet out. */
static void put_packet(struct mt_perfetto *to)
{
    unsigned char head[11] = {TRACE_PACKET << 3 | MT_PROTO_BYTES}, *at = head + 1;
    size_t size = to->packet.n;
    for (; size > 127; size >>= 7)
        *at++ = (unsigned char)(size | 128);
    *at++ = (unsigned char)size;
    mt_sink_put(to->sink, head, (size_t)(at - head));
    mt_sink_put(to->sink, to->packet.bytes, to->packet.n);
    if (to->packet.has_no_memory || to->event.has_no_memory || to->interned.has_no_memory)
        to->rc = -ENOMEM;
    to->packet.n = 0;
}

static void put_clock(struct mt_proto *packet, unsigned clock, uint64_t time,
                      bool is_of_differences)
{
    size_t begin = mt_proto_begin(packet, 1);
    mt_proto_number(packet, 1, clock);
    mt_proto_number(packet, 2, time);
    if (is_of_differences)
        mt_proto_number(packet, 3, 1);
    mt_proto_end(packet, begin);
}

void mt_perfetto_sequence(struct mt_perfetto *to, uint64_t time_ns)
{
    struct mt_proto *packet = &to->packet;
    to->now_ns = time_ns;
    to->sequence++;
    to->defined = 0;
    mt_texts_clear(&to->texts);
    mt_proto_number(packet, PACKET_SEQUENCE, to->sequence);
    mt_proto_number(packet, PACKET_FLAGS, FLAG_CLEARED);
    size_t clocks = mt_proto_begin(packet, PACKET_CLOCKS);
    put_clock(packet, CLOCK_OF_TRACE, time_ns, false);
    put_clock(packet, CLOCK_OF_UNIX, time_ns, false);
    put_clock(packet, CLOCK_OF_DIFFERENCES, 0, true);
    mt_proto_end(packet, clocks);
    size_t defaults = mt_proto_begin(packet, PACKET_DEFAULTS);
    mt_proto_number(packet, PACKET_CLOCK, CLOCK_OF_DIFFERENCES);
    mt_proto_end(packet, defaults);
    put_packet(to);
}

static void put_time(struct mt_perfetto *to, uint64_t time_ns)
{
    if (time_ns >= to->now_ns && !to->is_apart) {
        mt_proto_number(&to->packet, PACKET_TIME, time_ns - to->now_ns);
        to->now_ns = time_ns;
        return;
    }
    mt_proto_number(&to->packet, PACKET_TIME, time_ns);
    mt_proto_number(&to->packet, PACKET_CLOCK, CLOCK_OF_TRACE);
}

/* Begin a track's packet; its descriptor ends where `end_track` is called. */
static size_t begin_track(struct mt_perfetto *to, uint64_t parent, const char *name)
{
    mt_proto_number(&to->packet, PACKET_SEQUENCE, to->sequence);
    size_t descriptor = mt_proto_begin(&to->packet, PACKET_TRACK);
    mt_proto_number(&to->packet, TRACK_NUMBER, ++to->tracks);
    if (name)
        mt_proto_text(&to->packet, TRACK_NAME, name);
    if (parent)
        mt_proto_number(&to->packet, TRACK_PARENT, parent);
    return descriptor;
}

static uint64_t end_track(struct mt_perfetto *to, size_t descriptor)
{
    mt_proto_end(&to->packet, descriptor);
    put_packet(to);
    return to->tracks;
}

/* Return a name as UTF-8: names in descriptors are not interned, but must be valid UTF-8 as
 * well. */
static const char *valid(struct mt_perfetto *to, const char *text)
{
    struct mt_texts texts = {0};
    uint32_t place;
    if (mt_texts_add(&texts, text, &place)) {
        to->rc = -ENOMEM;
        mt_texts_clear(&texts);
        return NULL;
    }
    char *copy = texts.text[0];
    texts.n = 0;
    mt_texts_clear(&texts);
    return copy;
}

uint64_t mt_perfetto_process(struct mt_perfetto *to, uint64_t pid, const char *name)
{
    const char *safe = valid(to, name);
    size_t descriptor = begin_track(to, 0, NULL);
    size_t process = mt_proto_begin(&to->packet, TRACK_PROCESS);
    mt_proto_number(&to->packet, 1, pid & INT32_MAX);
    if (safe)
        mt_proto_text(&to->packet, 6, safe);
    mt_proto_end(&to->packet, process);
    free((char *)safe);
    return end_track(to, descriptor);
}

uint64_t mt_perfetto_thread(struct mt_perfetto *to, uint64_t process, uint64_t pid, uint64_t tid,
                            const char *name)
{
    const char *safe = valid(to, name);
    size_t descriptor = begin_track(to, process, NULL);
    size_t thread = mt_proto_begin(&to->packet, TRACK_THREAD);
    mt_proto_number(&to->packet, 1, pid & INT32_MAX);
    mt_proto_number(&to->packet, 2, tid & INT32_MAX);
    if (safe && *safe)
        mt_proto_text(&to->packet, 5, safe);
    mt_proto_end(&to->packet, thread);
    free((char *)safe);
    return end_track(to, descriptor);
}

uint64_t mt_perfetto_track(struct mt_perfetto *to, uint64_t parent, const char *name)
{
    const char *safe = valid(to, name);
    uint64_t track = end_track(to, begin_track(to, parent, safe));
    free((char *)safe);
    return track;
}

uint64_t mt_perfetto_counter(struct mt_perfetto *to, uint64_t parent, const char *name)
{
    const char *safe = valid(to, name);
    size_t descriptor = begin_track(to, parent, safe);
    size_t counter = mt_proto_begin(&to->packet, TRACK_COUNTER);
    mt_proto_number(&to->packet, 3, UNIT_BYTES);
    mt_proto_end(&to->packet, counter);
    free((char *)safe);
    return end_track(to, descriptor);
}

void mt_perfetto_count(struct mt_perfetto *to, uint64_t track, uint64_t time_ns, uint64_t value)
{
    to->event.n = 0;
    mt_proto_number(&to->event, EVENT_TYPE, MT_PERFETTO_COUNTER);
    mt_proto_number(&to->event, EVENT_TRACK, track);
    mt_proto_number(&to->event, EVENT_VALUE, value);
    put_time(to, time_ns);
    mt_proto_number(&to->packet, PACKET_SEQUENCE, to->sequence);
    mt_proto_bytes(&to->packet, PACKET_EVENT, to->event.bytes, to->event.n);
    mt_proto_number(&to->packet, PACKET_FLAGS, FLAG_NEEDS);
    put_packet(to);
}

/* Intern a text: return its number, of all kinds of interned texts. */
static uint64_t intern(struct mt_perfetto *to, const char *text)
{
    uint32_t place = 0;
    if (mt_texts_add(&to->texts, text, &place))
        to->rc = -ENOMEM;
    for (; to->defined < to->texts.n; to->defined++) {
        static const unsigned kinds[] = {INTERNED_EVENT_NAME, INTERNED_FIELD_NAME, INTERNED_TEXT};
        for (unsigned i = 0; i < 3; i++) {
            size_t begun = mt_proto_begin(&to->interned, kinds[i]);
            mt_proto_number(&to->interned, 1, (uint64_t)to->defined + 1);
            mt_proto_text(&to->interned, 2, to->texts.text[to->defined]);
            mt_proto_end(&to->interned, begun);
        }
    }
    return (uint64_t)place + 1;
}

void mt_perfetto_begin_event(struct mt_perfetto *to, enum mt_perfetto_type type, uint64_t track,
                             const char *name)
{
    if (to->texts.n >= MOST_TEXTS) /* they need no more memory then */
        mt_perfetto_sequence(to, to->now_ns);
    to->event.n = 0;
    mt_proto_number(&to->event, EVENT_TYPE, type);
    mt_proto_number(&to->event, EVENT_TRACK, track);
    if (name)
        mt_proto_number(&to->event, EVENT_NAME, intern(to, name));
}

void mt_perfetto_add_text(struct mt_perfetto *to, const char *name, const char *text)
{
    if (!*text)
        return;
    uint64_t name_number = intern(to, name), text_number = intern(to, text);
    size_t field = mt_proto_begin(&to->event, EVENT_FIELD);
    mt_proto_number(&to->event, FIELD_NAME, name_number);
    mt_proto_number(&to->event, FIELD_TEXT, text_number);
    mt_proto_end(&to->event, field);
}

void mt_perfetto_add_number(struct mt_perfetto *to, const char *name, uint64_t number)
{
    uint64_t name_number = intern(to, name);
    size_t field = mt_proto_begin(&to->event, EVENT_FIELD);
    mt_proto_number(&to->event, FIELD_NAME, name_number);
    mt_proto_number(&to->event, FIELD_NUMBER, number);
    mt_proto_end(&to->event, field);
}

void mt_perfetto_end_event(struct mt_perfetto *to, uint64_t time_ns)
{
    put_time(to, time_ns);
    mt_proto_number(&to->packet, PACKET_SEQUENCE, to->sequence);
    if (to->interned.n)
        mt_proto_bytes(&to->packet, PACKET_INTERNED, to->interned.bytes, to->interned.n);
    to->interned.n = 0;
    mt_proto_bytes(&to->packet, PACKET_EVENT, to->event.bytes, to->event.n);
    mt_proto_number(&to->packet, PACKET_FLAGS, FLAG_NEEDS);
    put_packet(to);
}

void mt_perfetto_event(struct mt_perfetto *to, enum mt_perfetto_type type, uint64_t track,
                       const char *name, uint64_t time_ns)
{
    mt_perfetto_begin_event(to, type, track, name);
    mt_perfetto_end_event(to, time_ns);
}

void mt_perfetto_clear(struct mt_perfetto *to)
{
    mt_proto_clear(&to->packet);
    mt_proto_clear(&to->event);
    mt_proto_clear(&to->interned);
    mt_texts_clear(&to->texts);
}
