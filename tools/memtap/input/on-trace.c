/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/page.h"
#include "tools/memtap/terminal/command.h"
#include "trace-arguments.h"

#include <errno.h>

int mt_on_trace(struct mt_trace_arguments *arguments, mt_trace_printer *print)
{
    struct mt_analysis analysis;
    int rc = mt_analysis_create(&analysis, arguments->path, &arguments->question);
    if (!rc)
        rc = print(&analysis, arguments);
    struct mt_trace_error fault = analysis.fault;
    mt_analysis_destroy(&analysis);
    int code = rc == -EDQUOT           ? mt_fail_work(mt_trace_name(arguments))
               : rc < 0 || fault.fault ? mt_fail_trace(mt_trace_name(arguments), &fault)
                                       : rc;
    mt_trace_arguments_clear(arguments);
    return code;
}

void mt_print_ended(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    struct mt_style style = mt_terminal_style();
    struct mt_page page = mt_page_of(analysis, stdout, &style);
    struct mt_ended ended = mt_analysis_ended(analysis);
    char text[MT_ENDED_TEXT];
    if (arguments->format == MT_FORMAT_TEXT)
        mt_page_ended(&page);
    else if (arguments->format != MT_FORMAT_JSON && mt_ended_is_reported(&ended))
        mt_say("%s: ended: %s", mt_trace_name(arguments), mt_ended_text(text, &ended));
}
