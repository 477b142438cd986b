/* SPDX-License-Identifier: Apache-2.0 */
#include "reads.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "core/values/values.h"
#include "rules.h"
#include "small.h"

/* One block of a kernel searches rows of up to this many elements; longer rows are searched by
 * thrust, which allocates memory according to what it counts. */
enum { ONE_BLOCK = 2048, MOST_FRAMES = 64 };

/* Return whether a function is one of PyTorch's operators: at::_ops::NAME::call. */
static bool is_operator(const char *function, const char **name, size_t *length)
{
    static const char beginning[] = "_ZN2at4_ops";
    size_t digits;

    if (!function || strncmp(function, beginning, strlen(beginning)))
        return false;
    *name = function + strlen(beginning);
    digits = strspn(*name, "0123456789");
    *length = strtoul(*name, NULL, 10);
    *name += digits;
    return digits && strlen(*name) > *length;
}

/* Return whether the value that is read goes to the program unchanged. */
static bool is_plain_read(const char *name, size_t length)
{
    static const char *const reads[] = {"item",
                                        "_local_scalar_dense",
                                        "is_nonzero",
                                        "copy_",
                                        "to_dtype_layout",
                                        "to_device",
                                        "to_dtype",
                                        "to_other",
                                        "_to_copy",
                                        "contiguous",
                                        "clone",
                                        "cpu"};

    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
        if (strlen(reads[i]) == length && !strncmp(reads[i], name, length))
            return true;
    return false;
}

/* Return whether an operator reads the value for its own use: the outermost operator between this
 * call and Python is not a read. Kernels that we do not replace call operators, too: those of
 * sparse tensors, and those shared by all devices. */
static bool is_within_operator(void)
{
    void *frames[MOST_FRAMES];
    int n = backtrace(frames, MOST_FRAMES);
    bool within = false;

    for (int i = 0; i < n; i++) {
        const char *name;
        size_t length;
        Dl_info info;

        if (!dladdr(frames[i], &info))
            continue;
        if (strstr(info.dli_fname, "libtorch_python"))
            break;
        if (is_operator(info.dli_sname, &name, &length))
            within = !is_plain_read(name, length);
    }
    return within;
}

static enum sim_unknown what_it_reads(const struct sim_replaced *op,
                                      const struct sim_value *arguments, bool within)
{
    unsigned type;

    if (op->rules & SIM_COUNTS)
        return SIM_UNKNOWN_SIZE;
    if (op->rules & SIM_DECIDES)
        return SIM_UNKNOWN_CONDITION;
    if (op->rules & SIM_SEEKS)
        return sim_choices(op, arguments) > ONE_BLOCK ? SIM_UNKNOWN_SIZE : SIM_UNKNOWN_NOTHING;
    if (op->rules & SIM_READS)
        type = sim_dtype(arguments[0].object);
    else if (op->rules & SIM_COPIES && !sim_is_on_device(&arguments[0]) &&
             sim_is_on_device(&arguments[1]))
        type = sim_dtype(arguments[1].object) <= SIM_TYPE_LONG ? SIM_TYPE_LONG : SIM_TYPE_LONG + 1;
    else
        return SIM_UNKNOWN_NOTHING;
    if (type == SIM_TYPE_BOOL)
        return SIM_UNKNOWN_CONDITION;
    if (type > SIM_TYPE_LONG)
        return SIM_UNKNOWN_REAL;
    return within ? SIM_UNKNOWN_SIZE : SIM_UNKNOWN_NUMBER;
}

/* Return whether the program can rely on a value. A chosen token never ends a text. */
static bool is_answer(const struct sim_replaced *op, enum sim_unknown what, const void *tensor)
{
    enum sim_known known = sim_find_known(tensor);

    if (known == SIM_EVEN && what == SIM_UNKNOWN_SIZE) /* as many as there are of each */
        return op->rules & SIM_COUNTS && !(op->rules & SIM_IN_ORDER) &&
               (!(op->rules & SIM_FINDS) || sim_dtype(tensor) != SIM_TYPE_BOOL);
    return known == SIM_KNOWN ||
           (sim_is_settled(known) && known != SIM_FOUND && what == SIM_UNKNOWN_CONDITION);
}

void sim_report_reads(const struct sim_replaced *op, const struct sim_value *arguments,
                      bool counted, bool within)
{
    enum sim_unknown what = what_it_reads(op, arguments, within);

    if (what == SIM_UNKNOWN_NOTHING)
        return;
    for (size_t i = 0; i < op->arguments; i++)
        if (arguments[i].tag == SIM_TAG_TENSOR && !(op->writes >> i & 1) &&
            !(is_answer(op, what, arguments[i].object) &&
              (counted || !sim_numel(arguments[i].object)))) {
            if (what == SIM_UNKNOWN_NUMBER && is_within_operator())
                what = SIM_UNKNOWN_SIZE;
            sim_unknown_value((int)what, sim_operator_name(op->entry));
            return;
        }
}
