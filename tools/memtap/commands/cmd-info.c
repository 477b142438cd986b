/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "analyzer/support/text.h"
#include "analyzer/trace/ended.h"
#include "analyzer/trace/survey.h"
#include "commands.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>

static void print_text(const char *path, const struct mt_survey *survey,
                       const struct mt_ended *ended, bool is_faulty,
                       const struct mt_definitions *definitions)
{
    char text[MT_SIZE_TEXT], value[1024], line[MT_ENDED_TEXT];
    struct mt_style style = mt_terminal_style();
    mt_safe_text(value, sizeof value, path, 0, MT_CUT_END, &style);
    printf("trace     %s\n", value);
    mt_safe_text(value, sizeof value, mt_ended_line(line, ended) + sizeof "Ended:", 0, MT_CUT_END,
                 &style);
    printf("ended     %s\n", value);
    printf("size      %s\n", mt_size_text(text, survey->bytes));
    printf("length    %s\n", mt_time_text(text, mt_survey_length_ns(survey)));
    bool is_complete = survey->complete && !mt_survey_lost(survey) && !is_faulty;
    printf("complete  %s\n", is_complete ? "yes" : "no");
    printf("lost      %s\n", mt_count_text(text, mt_survey_lost(survey)));
    printf("events    %s\n", mt_count_text(text, survey->events));
    for (unsigned i = 0; i < MT_KIND_LIMIT; i++)
        if (survey->kinds[i])
            printf("  %-16s %12s\n", mt_kinds[i].name, mt_count_text(text, survey->kinds[i]));
    puts("process");
    const struct mt_info *info;
    for (size_t i = 0; (info = mt_info_at(definitions, i)); i++) {
        char key[256];
        if (mt_info_is_apart(info))
            continue;
        mt_safe_text(key, sizeof key, info->key, 0, MT_CUT_END, &style);
        mt_safe_text(value, sizeof value, info->value, 0, MT_CUT_END, &style);
        printf("  %-18s %s\n", key, value);
    }
}

static int print_json(const struct mt_survey *survey, const struct mt_ended *ended, bool is_faulty,
                      const struct mt_definitions *definitions)
{
    json_t *records = json_object();
    for (unsigned i = 0; i < MT_KIND_LIMIT; i++)
        if (mt_kinds[i].name)
            json_object_set_new(records, mt_kinds[i].name, mt_json_number(survey->kinds[i]));
    json_t *info = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:b, s:b, s:s, s:o, s:o, s:o}", "schema", "memtap.info/1",
        "ended", mt_json_ended(ended), "events", mt_json_number(survey->events), "bytes",
        mt_json_number(survey->bytes), "lost", mt_json_number(mt_survey_lost(survey)), "complete",
        survey->complete && !mt_survey_lost(survey) && !is_faulty, "blocks_numbered",
        !survey->is_unnumbered, "state", mt_trace_state_names[survey->state], "length_ns",
        mt_json_number(mt_survey_length_ns(survey)), "records", records, "process",
        mt_json_process(definitions));
    return mt_json_print(stdout, info, 0);
}

int mt_run_info(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    struct mt_survey survey;
    struct mt_trace_error error = {0};
    if (mt_read_trace_arguments(command, argc, argv, MT_ONE_TRACE, &arguments))
        return MT_EXIT_BAD;
    struct mt_definitions *definitions = mt_definitions_create();
    int rc = definitions ? mt_survey(arguments.path, &survey, definitions, &error) : -ENOMEM;
    struct mt_ended ended = {0};
    if (!rc)
        ended = mt_ended_of(&survey, &error);
    if (!rc && arguments.format == MT_FORMAT_JSON)
        rc = print_json(&survey, &ended, error.fault, definitions) == -ENOMEM ? -ENOMEM : 0;
    else if (!rc)
        print_text(mt_trace_name(&arguments), &survey, &ended, error.fault, definitions);
    mt_definitions_destroy(definitions);
    int code = rc || error.fault ? mt_fail_trace(mt_trace_name(&arguments), &error) : MT_EXIT_OK;
    mt_trace_arguments_clear(&arguments);
    return code;
}
