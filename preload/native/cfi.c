/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi.h"
#include "cfi-cursor.h"
#include "cfi-expression.h"

#include <stdbool.h>

#define REMEMBERED 8 /* rows that a program may save */
#define LONGEST (1u << 24)

/* Encodings of pointers: how they are stored (low four bits) and what is added (the next three). */
enum { AS_IS = 0x00, FROM_HERE = 0x10, FROM_TABLE = 0x30, INDIRECT = 0x80, OMITTED = 0xff };
#define SORTED_TABLE (FROM_TABLE | 0x0b) /* pairs of int32, as all linkers write it */

/* How to get a register's value in the caller, or (cfa) the CFA. */
struct recovery {
    enum { SAME, UNDEFINED, AT_CFA, REGISTER, EXPRESSION, OTHER } how;
    unsigned base;                   /* REGISTER: its value + offset */
    int64_t offset;                  /* AT_CFA: the word at CFA + offset */
    struct mt_cfi_cursor expression; /* cfa: its value; registers: where they are */
};

struct row {
    struct recovery cfa, bp, pc;
};

/* The common data of a compilation unit's frames, and one function's. */
struct function {
    uintptr_t start, size;
    struct mt_cfi_cursor common, own; /* programs */
    uint64_t code_step;
    int64_t data_step;
    bool is_signal, has_data;
};

static uintptr_t take_pointer(struct mt_cfi_cursor *cursor, unsigned encoding)
{
    static const int8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 0, 0, -2, -4, -8};
    uintptr_t here = (uintptr_t)cursor->at;
    int size = sizes[encoding & 15];
    if (size == 0)
        cursor->failed = 1;
    uintptr_t value = size < 0 ? (uintptr_t)mt_cfi_read_signed(cursor, (unsigned)-size)
                               : (uintptr_t)mt_cfi_read(cursor, (unsigned)size);
    switch (encoding & 0x70) {
    case AS_IS:
        return value;
    case FROM_HERE:
        return here + value;
    }
    cursor->failed = 1;
    return 0;
}

/* Return the entry of the last function that begins at pc or before. */
static const uint8_t *find_entry(const struct mt_image *image, uintptr_t pc)
{
    const uint8_t *table = image->frames;
    struct mt_cfi_cursor cursor = {table, (const uint8_t *)image->end, 0};
    unsigned version = (unsigned)mt_cfi_read(&cursor, 1), frame = (unsigned)mt_cfi_read(&cursor, 1);
    unsigned count = (unsigned)mt_cfi_read(&cursor, 1), order = (unsigned)mt_cfi_read(&cursor, 1);
    if (version != 1 || count == OMITTED || order != SORTED_TABLE)
        return NULL;
    take_pointer(&cursor, frame);
    uint64_t n = take_pointer(&cursor, count), low = 0;
    if (cursor.failed || n > (uint64_t)(cursor.end - cursor.at) / 8)
        return NULL;
    struct pair {
        int32_t start, entry; /* from the table's start */
    } pair;
    for (uint64_t high = n; low < high;) {
        uint64_t middle = low + (high - low) / 2;
        memcpy(&pair, cursor.at + 8 * middle, sizeof pair);
        if ((uintptr_t)table + (uintptr_t)(intptr_t)pair.start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    memcpy(&pair, cursor.at + 8 * (low - 1), sizeof pair);
    return table + pair.entry;
}

/* Open an entry's content, which follows its length. */
static struct mt_cfi_cursor open_entry(const struct mt_image *image, const uint8_t *entry)
{
    struct mt_cfi_cursor all = {entry, (const uint8_t *)image->end, 0};
    if ((uintptr_t)entry < image->start || (uintptr_t)entry >= image->end)
        return (struct mt_cfi_cursor){NULL, NULL, 1};
    uint64_t size = mt_cfi_read(&all, 4);
    if (!size || size > LONGEST) /* none, or the 64-bit form */
        return (struct mt_cfi_cursor){NULL, NULL, 1};
    return mt_cfi_read_part(&all, size);
}

/* Read the common entry. *encoding is that of the function's addresses. */
static bool read_common(struct mt_cfi_cursor cursor, struct function *function, unsigned *encoding)
{
    unsigned id = (unsigned)mt_cfi_read(&cursor, 4), version = (unsigned)mt_cfi_read(&cursor, 1);
    const char *letters = (const char *)cursor.at;
    while (mt_cfi_read(&cursor, 1))
        ;
    function->code_step = mt_cfi_read_uleb(&cursor);
    function->data_step = mt_cfi_read_sleb(&cursor);
    uint64_t return_column = version == 1 ? mt_cfi_read(&cursor, 1) : mt_cfi_read_uleb(&cursor);
    *encoding = AS_IS;
    if (cursor.failed || id || (version != 1 && version != 3) || return_column != MT_REGISTER_PC)
        return false;
    if (*letters == 'z') {
        function->has_data = true;
        struct mt_cfi_cursor data = mt_cfi_read_part(&cursor, mt_cfi_read_uleb(&cursor));
        for (letters++; *letters; letters++)
            if (*letters == 'R')
                *encoding = (unsigned)mt_cfi_read(&data, 1);
            else if (*letters == 'P')
                take_pointer(&data, (unsigned)mt_cfi_read(&data, 1) & 0x1f);
            else if (*letters == 'L')
                mt_cfi_read(&data, 1);
            else if (*letters == 'S')
                function->is_signal = true;
            else
                return false;
        if (data.failed)
            return false;
    } else if (*letters) {
        return false;
    }
    function->common = cursor;
    return !cursor.failed;
}

static bool find_function(const struct mt_image *image, uintptr_t pc, struct function *function)
{
    unsigned encoding;
    const uint8_t *entry = find_entry(image, pc);
    if (!entry)
        return false;
    struct mt_cfi_cursor own = open_entry(image, entry);
    const uint8_t *here = own.at;
    uint32_t to_common = (uint32_t)mt_cfi_read(&own, 4);
    if (own.failed || !to_common ||
        !read_common(open_entry(image, here - to_common), function, &encoding))
        return false;
    function->start = take_pointer(&own, encoding);
    function->size = take_pointer(&own, encoding & 15);
    if (function->has_data)
        mt_cfi_read_part(&own, mt_cfi_read_uleb(&own)); /* C++'s */
    function->own = own;
    return !own.failed && pc >= function->start && pc - function->start < function->size;
}

static void set(struct row *row, uint64_t number, struct recovery recovery)
{
    if (number == MT_REGISTER_BP)
        row->bp = recovery;
    else if (number == MT_REGISTER_PC)
        row->pc = recovery;
}

static void set_at_cfa(struct row *row, uint64_t number, int64_t offset)
{
    set(row, number, (struct recovery){.how = AT_CFA, .offset = offset});
}

static void restore(struct row *row, uint64_t number, const struct row *initial)
{
    set(row, number, number == MT_REGISTER_BP ? initial->bp : initial->pc);
}

static struct mt_cfi_cursor take_expression(struct mt_cfi_cursor *cursor)
{
    return mt_cfi_read_part(cursor, mt_cfi_read_uleb(cursor));
}

/* The operations by their DWARF numbers; the upper two bits encode the first three. */
enum {
    ADVANCE = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOTHING = 0x00,
    SET_LOCATION = 0x01,
    ADVANCE_1 = 0x02,
    ADVANCE_2 = 0x03,
    ADVANCE_4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    SET_UNDEFINED = 0x07,
    SET_SAME = 0x08,
    SET_REGISTER = 0x09,
    REMEMBER_STATE = 0x0a,
    RESTORE_STATE = 0x0b,
    DEFINE_CFA = 0x0c,
    DEFINE_CFA_REGISTER = 0x0d,
    DEFINE_CFA_OFFSET = 0x0e,
    DEFINE_CFA_EXPRESSION = 0x0f,
    SET_EXPRESSION = 0x10,
    OFFSET_EXTENDED_SIGNED = 0x11,
    DEFINE_CFA_SIGNED = 0x12,
    DEFINE_CFA_OFFSET_SIGNED = 0x13,
    VALUE_OFFSET = 0x14,
    VALUE_OFFSET_SIGNED = 0x15,
    VALUE_EXPRESSION = 0x16,
    ARGUMENTS_SIZE = 0x2e,
};

/* The state of a program that is executed up to a place in the function. */
struct machine {
    struct row row, initial, remembered[REMEMBERED];
    unsigned n_remembered;
    uint64_t location; /* bytes from the function's start */
};

static void define_cfa(struct machine *machine, uint64_t base, int64_t offset)
{
    machine->row.cfa = (struct recovery){REGISTER, (unsigned)base, offset, {0}};
}

static void remember(struct machine *machine, struct mt_cfi_cursor *cursor)
{
    if (machine->n_remembered == REMEMBERED)
        cursor->failed = 1;
    else
        machine->remembered[machine->n_remembered++] = machine->row;
}

static void recall(struct machine *machine, struct mt_cfi_cursor *cursor)
{
    if (!machine->n_remembered)
        cursor->failed = 1;
    else
        machine->row = machine->remembered[--machine->n_remembered];
}

/* Run an operation that is a whole byte. */
static void step(struct machine *machine, struct mt_cfi_cursor *at, const struct function *function,
                 unsigned op)
{
    struct row *row = &machine->row;
    uint64_t number;
    switch (op) {
    case NOTHING:
        return;
    case ARGUMENTS_SIZE:
        mt_cfi_read_uleb(at);
        return;
    case ADVANCE_1:
    case ADVANCE_2:
    case ADVANCE_4:
        machine->location += mt_cfi_read(at, 1u << (op - ADVANCE_1)) * function->code_step;
        return;
    case OFFSET_EXTENDED:
        number = mt_cfi_read_uleb(at);
        set_at_cfa(row, number, (int64_t)mt_cfi_read_uleb(at) * function->data_step);
        return;
    case OFFSET_EXTENDED_SIGNED:
        number = mt_cfi_read_uleb(at);
        set_at_cfa(row, number, mt_cfi_read_sleb(at) * function->data_step);
        return;
    case RESTORE_EXTENDED:
        restore(row, mt_cfi_read_uleb(at), &machine->initial);
        return;
    case SET_UNDEFINED:
        set(row, mt_cfi_read_uleb(at), (struct recovery){.how = UNDEFINED});
        return;
    case SET_SAME:
        set(row, mt_cfi_read_uleb(at), (struct recovery){.how = SAME});
        return;
    case SET_REGISTER:
    case VALUE_OFFSET:
    case VALUE_OFFSET_SIGNED:
        set(row, mt_cfi_read_uleb(at), (struct recovery){.how = OTHER});
        mt_cfi_read_uleb(at); /* a signed number ends as an unsigned one does */
        return;
    case SET_EXPRESSION:
        number = mt_cfi_read_uleb(at);
        set(row, number, (struct recovery){.how = EXPRESSION, .expression = take_expression(at)});
        return;
    case VALUE_EXPRESSION:
        set(row, mt_cfi_read_uleb(at), (struct recovery){.how = OTHER});
        take_expression(at);
        return;
    case REMEMBER_STATE:
        remember(machine, at);
        return;
    case RESTORE_STATE:
        recall(machine, at);
        return;
    case DEFINE_CFA:
        number = mt_cfi_read_uleb(at);
        define_cfa(machine, number, (int64_t)mt_cfi_read_uleb(at));
        return;
    case DEFINE_CFA_SIGNED:
        number = mt_cfi_read_uleb(at);
        define_cfa(machine, number, mt_cfi_read_sleb(at) * function->data_step);
        return;
    case DEFINE_CFA_REGISTER:
        define_cfa(machine, mt_cfi_read_uleb(at), row->cfa.offset);
        return;
    case DEFINE_CFA_OFFSET:
        define_cfa(machine, row->cfa.base, (int64_t)mt_cfi_read_uleb(at));
        return;
    case DEFINE_CFA_OFFSET_SIGNED:
        define_cfa(machine, row->cfa.base, mt_cfi_read_sleb(at) * function->data_step);
        return;
    case DEFINE_CFA_EXPRESSION:
        row->cfa = (struct recovery){.how = EXPRESSION, .expression = take_expression(at)};
        return;
    }
    at->failed = 1; /* SET_LOCATION, which no compiler writes here, or unknown */
}

/* Execute up to the row for `until`, in bytes from the function's start. Return 1, or 0 if the
 * program is not understood. */
static bool execute(struct machine *machine, struct mt_cfi_cursor program,
                    const struct function *function, uint64_t until)
{
    while (program.at < program.end && !program.failed && machine->location <= until) {
        unsigned op = (unsigned)mt_cfi_read(&program, 1), low = op & 0x3f;
        switch (op & 0xc0) {
        case ADVANCE:
            machine->location += low * function->code_step;
            if (machine->location > until)
                return true;
            break;
        case OFFSET:
            set_at_cfa(&machine->row, low,
                       (int64_t)mt_cfi_read_uleb(&program) * function->data_step);
            break;
        case RESTORE:
            restore(&machine->row, low, &machine->initial);
            break;
        default:
            step(machine, &program, function, op);
        }
    }
    return !program.failed;
}

static struct mt_frame_rule rule_of(enum mt_cfa cfa_from, int64_t cfa, enum mt_bp bp_from,
                                    int64_t bp_at)
{
    bool is_multiple = cfa > 0 && cfa % (int64_t)sizeof(uintptr_t) == 0;
    if (cfa != (int32_t)cfa || (cfa_from == MT_CFA_SP && !is_multiple))
        cfa_from = MT_CFA_UNKNOWN;
    bool is_outside = bp_at > -16 || (cfa_from == MT_CFA_SP && bp_at < -cfa);
    if (bp_at != (int16_t)bp_at || (bp_from == MT_BP_AT_CFA && is_outside)) {
        bp_from = MT_BP_LOST;
        bp_at = 0;
    }
    return (struct mt_frame_rule){(uint8_t)cfa_from, (uint8_t)bp_from, (int16_t)bp_at,
                                  (int32_t)cfa};
}

static struct mt_frame_rule unknown(void)
{
    return rule_of(MT_CFA_UNKNOWN, 0, MT_BP_LOST, 0);
}

/* Return a rule for an interrupted thread. The kernel saves its registers in its own order: pc must
 * match the rule's sp and bp. */
static struct mt_frame_rule signal_rule(const struct row *row, uintptr_t pc)
{
    struct mt_expression_value sp = mt_expression(row->cfa.expression, pc),
                               bp = mt_expression(row->bp.expression, pc),
                               ip = mt_expression(row->pc.expression, pc);
    bool is_usual = row->cfa.how == EXPRESSION && row->bp.how == EXPRESSION &&
                    row->pc.how == EXPRESSION && sp.form == MT_VALUE_WORD_AT &&
                    bp.form == MT_VALUE_ADDRESS && ip.form == MT_VALUE_ADDRESS &&
                    sp.base == MT_REGISTER_SP && bp.base == MT_REGISTER_SP &&
                    ip.base == MT_REGISTER_SP && ip.offset == sp.offset + 8;
    return is_usual ? rule_of(MT_CFA_SIGNAL, sp.offset, MT_BP_SAME, bp.offset) : unknown();
}

static struct mt_expression_value cfa_of(const struct row *row, uintptr_t pc)
{
    if (row->cfa.how == EXPRESSION)
        return mt_expression(row->cfa.expression, pc);
    if (row->cfa.how == REGISTER)
        return (struct mt_expression_value){MT_VALUE_ADDRESS, row->cfa.base, row->cfa.offset};
    return (struct mt_expression_value){MT_VALUE_UNKNOWN, 0, 0};
}

static struct mt_frame_rule make_rule(const struct row *row, uintptr_t pc)
{
    struct mt_expression_value cfa = cfa_of(row, pc), bp = {MT_VALUE_UNKNOWN, 0, 0};
    enum mt_cfa from = MT_CFA_UNKNOWN;
    if (row->pc.how == UNDEFINED)
        return rule_of(MT_CFA_END, 0, MT_BP_LOST, 0);
    if (row->pc.how != AT_CFA || row->pc.offset != -8)
        return unknown();
    if (cfa.form == MT_VALUE_ADDRESS && cfa.base == MT_REGISTER_SP)
        from = MT_CFA_SP;
    else if (cfa.form == MT_VALUE_ADDRESS && cfa.base == MT_REGISTER_BP)
        from = MT_CFA_BP;
    else if (cfa.form == MT_VALUE_WORD_AT && cfa.base == MT_REGISTER_BP)
        from = MT_CFA_AT_BP;
    if (row->bp.how == SAME)
        return rule_of(from, cfa.offset, MT_BP_SAME, 0);
    if (row->bp.how == AT_CFA)
        return rule_of(from, cfa.offset, MT_BP_AT_CFA, row->bp.offset);
    if (row->bp.how == EXPRESSION)
        bp = mt_expression(row->bp.expression, pc);
    if (bp.form == MT_VALUE_ADDRESS && bp.base == MT_REGISTER_BP)
        return rule_of(from, cfa.offset, MT_BP_AT_BP, bp.offset);
    return rule_of(from, cfa.offset, MT_BP_LOST, 0);
}

struct mt_frame_rule mt_cfi_rule(const struct mt_image *image, uintptr_t pc, uintptr_t range[2])
{
    struct function function = {0};
    struct machine machine = {0};
    range[0] = range[1] = 0;
    if (!image->frames || !find_function(image, pc, &function))
        return unknown();
    range[0] = function.start;
    range[1] = function.start + function.size;
    if (!execute(&machine, function.common, &function, UINT64_MAX))
        return unknown();
    machine.initial = machine.row;
    if (!execute(&machine, function.own, &function, pc - function.start))
        return unknown();
    return function.is_signal ? signal_rule(&machine.row, pc) : make_rule(&machine.row, pc);
}
