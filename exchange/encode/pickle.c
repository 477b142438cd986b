/* SPDX-License-Identifier: Apache-2.0 */
#include "pickle.h"
#include "trace-format/safe-text.h"

enum { PIECE = 1000 }; /* items that memory_viz accepts at once */

enum {
    PROTO = 0x80,
    STOP = '.',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG1 = 0x8a,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE = 'X',
    MEMOIZE = 0x94,
    BINGET = 'h',
    LONG_BINGET = 'j',
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    MARK = '(',
    SETITEMS = 'u',
    APPENDS = 'e',
    TUPLE2 = 0x86,
};

void mt_pickle_begin(struct mt_pickle *pickle, struct mt_sink *sink)
{
    *pickle = (struct mt_pickle){.sink = sink};
    mt_sink_byte(sink, PROTO);
    mt_sink_byte(sink, 4);
}

void mt_pickle_end(struct mt_pickle *pickle)
{
    mt_sink_byte(pickle->sink, STOP);
}

void mt_pickle_number(struct mt_pickle *pickle, uint64_t number)
{
    struct mt_sink *sink = pickle->sink;
    if (number < 256) {
        mt_sink_byte(sink, BININT1);
        mt_sink_byte(sink, (unsigned char)number);
        return;
    }
    unsigned size = number < 65536 ? 2 : number <= INT32_MAX ? 4 : 9;
    unsigned char bytes[9] = {0}; /* LONG1 has a sign: nine bytes hold any */
    memcpy(bytes, &number, sizeof number);
    mt_sink_byte(sink, size == 2 ? BININT2 : size == 4 ? BININT : LONG1);
    if (size == 9) {
        while (size > 1 && !bytes[size - 1] && bytes[size - 2] < 128)
            size--;
        mt_sink_byte(sink, (unsigned char)size);
    }
    mt_sink_put(sink, bytes, size);
}

void mt_pickle_bool(struct mt_pickle *pickle, int value)
{
    mt_sink_byte(pickle->sink, value ? NEWTRUE : NEWFALSE);
}

void mt_pickle_text(struct mt_pickle *pickle, const char *text)
{
    struct mt_sink *sink = pickle->sink;
    uint32_t size = 0;
    for (const char *at = text; *at;) {
        size_t length = mt_utf8_length(at);
        size += length ? (uint32_t)length : 3;
        at += length ? length : 1;
    }
    mt_sink_byte(sink, size < 256 ? SHORT_BINUNICODE : BINUNICODE);
    mt_sink_put(sink, &size, size < 256 ? 1 : 4);
    while (*text) {
        size_t length = mt_utf8_length(text);
        mt_sink_put(sink, length ? text : "\xef\xbf\xbd", length ? length : 3);
        text += length ? length : 1;
    }
}

uint32_t mt_pickle_memoize(struct mt_pickle *pickle)
{
    mt_sink_byte(pickle->sink, MEMOIZE);
    return pickle->memos++;
}

void mt_pickle_get(struct mt_pickle *pickle, uint32_t memo)
{
    mt_sink_byte(pickle->sink, memo < 256 ? BINGET : LONG_BINGET);
    mt_sink_put(pickle->sink, &memo, memo < 256 ? 1 : 4);
}

void mt_pickle_key(struct mt_pickle *pickle, const char *literal)
{
    for (size_t i = 0; i < pickle->n_keys; i++)
        if (pickle->key[i].text == literal) {
            mt_pickle_get(pickle, pickle->key[i].memo);
            return;
        }
    mt_pickle_text(pickle, literal);
    if (pickle->n_keys == MT_PICKLE_KEYS)
        return;
    pickle->key[pickle->n_keys].text = literal;
    pickle->key[pickle->n_keys++].memo = mt_pickle_memoize(pickle);
}

void mt_pickle_dict(struct mt_pickle *pickle)
{
    mt_sink_byte(pickle->sink, EMPTY_DICT);
    mt_sink_byte(pickle->sink, MARK);
}

void mt_pickle_dict_end(struct mt_pickle *pickle)
{
    mt_sink_byte(pickle->sink, SETITEMS);
}

void mt_pickle_list(struct mt_pickle *pickle, struct mt_pickle_list *list)
{
    mt_sink_byte(pickle->sink, EMPTY_LIST);
    list->n = 0;
}

void mt_pickle_item(struct mt_pickle *pickle, struct mt_pickle_list *list)
{
    if (list->n && list->n % PIECE == 0)
        mt_sink_byte(pickle->sink, APPENDS);
    if (list->n++ % PIECE == 0)
        mt_sink_byte(pickle->sink, MARK);
}

void mt_pickle_list_end(struct mt_pickle *pickle, const struct mt_pickle_list *list)
{
    if (list->n)
        mt_sink_byte(pickle->sink, APPENDS);
}

void mt_pickle_pair(struct mt_pickle *pickle)
{
    mt_sink_byte(pickle->sink, TUPLE2);
}
