/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that somebody chose: made safe for each place, cut, taken for a name, an amount, a moment.
 */
#include "analyzer/model/moment.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/text.h"
#include "analyzer/trace/comparable-names.h"
#include "compare/digest/amount.h"
#include "target.h"
#include "trace-format/safe-text.h"

#include <stdlib.h>
#include <string.h>

/* All of it is safe, and as long as it says. */
static void check_safe(const char *text)
{
    bool is_safe;
    for (size_t n; (n = mt_safe_next(text, &is_safe)); text += n)
        if (!is_safe || n > strlen(text))
            abort();
}

static void cut(const char *text, unsigned choice)
{
    char out[128];
    struct mt_style style = {.utf8 = choice & 1};
    size_t size = 1 + choice % sizeof out;
    mt_safe_text(out, size, text, choice % 40, choice & 2 ? MT_CUT_BEGIN : MT_CUT_END, &style);
    if (strlen(out) >= size)
        abort();
    check_safe(out);
}

static void put(const char *text, unsigned choice)
{
    char *out;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    if (!file)
        abort();
    mt_put_text(file, text, (enum mt_text_for)(choice % MT_TEXT_PLACES));
    fclose(file);
    if (strlen(out) != size || strchr(out, '\n') || strchr(out, '\x1b'))
        abort();
    free(out);
}

static void name(const char *text, unsigned choice)
{
    char out[64];
    struct mt_frame frame = {
        .function = text, .file = text, .is_native = choice & 1, .is_named = choice >> 1 & 1};
    size_t size = 1 + choice % sizeof out;
    mt_comparable_file(out, size, text, choice & 4 ? "/home/user" : text);
    mt_comparable_function(out, size, &frame);
    mt_program_name(out, size, text);
    free(mt_function_name(text));
    if (strlen(out) >= size || strlen(mt_last_part(text)) > strlen(text))
        abort();
}

static void number(const char *text)
{
    struct mt_amount amount;
    struct mt_moment moment;
    char why[100] = "", out[MT_AMOUNT_TEXT];
    if (mt_amount_parse(text, &amount, why, sizeof why)
            ? !*why
            : !*mt_amount_text(out, amount.unit, amount.value))
        abort();
    if (!mt_moment_parse(text, &moment) && !mt_moment_name(moment.kind))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2)
        return 0;
    char *text = strndup((const char *)bytes + 2, size - 2);
    if (!text)
        abort();
    switch (bytes[0] % 4) {
    case 0:
        cut(text, bytes[1]);
        break;
    case 1:
        put(text, bytes[1]);
        break;
    case 2:
        name(text, bytes[1]);
        break;
    default:
        number(text);
    }
    mt_safe_in_place(text, bytes[1] & 1);
    check_safe(text);
    free(text);
    return 0;
}
