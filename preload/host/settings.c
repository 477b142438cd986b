/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"
#include "message.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct mt_settings mt_settings;

#define LIGHT_KEEPS (256u << 20) /* the default of a light recording, bytes */

/* Return whether the value is valid. If not, print a message. */
static bool is_right(const struct mt_setting *setting, const char *value, size_t size)
{
    char wrong[MT_SETTING_WRONG];
    if (strlen(value) >= size)
        mt_message("%s is longer than %zu characters (using %s)", setting->variable, size - 1,
                   setting->otherwise);
    else if (mt_setting_wrong(wrong, setting, setting->variable, value))
        mt_message("%s (using %s)", wrong, setting->otherwise);
    else
        return true;
    return false;
}

/* Copy the value to out: the program may change its environment at any time. */
static void read_variable(char *out, size_t size, const struct mt_setting *setting)
{
    const char *value = getenv(setting->variable);
    strcpy(out, value && *value && is_right(setting, value, size) ? value : setting->otherwise);
}

void mt_settings_read(void)
{
#define READ(name, ...)                                                                            \
    read_variable(mt_settings.name, sizeof mt_settings.name, &mt_setting_table[MT_ID_##name]);
    MT_SETTINGS(READ)
    mt_setting_complete(mt_settings.output, sizeof mt_settings.output);
    mt_settings.native_stacks =
        !strcmp(mt_settings.stacks, "native") || !strcmp(mt_settings.stacks, "both");
    mt_settings.has_auto_stacks = !strcmp(mt_settings.stacks, "auto");
    mt_settings.python_stacks = mt_settings.has_auto_stacks ||
                                !strcmp(mt_settings.stacks, "python") ||
                                !strcmp(mt_settings.stacks, "both");
    mt_settings.is_quiet = !strcmp(mt_settings.quiet, "1");
    mt_settings.is_verbose = !strcmp(mt_settings.verbose, "1");
    mt_settings.has_thread = !strcmp(mt_settings.thread, "1");
    mt_settings.is_dormant = !strcmp(mt_settings.start, "off");
    mt_settings.zstd_level = atoi(mt_settings.level);
    mt_setting_list(mt_setting_table[MT_ID_holders].choices, mt_settings.holders,
                    &mt_settings.holders_at);
    mt_settings.holders_at <<= 1; /* the first moment is 1 */
    mt_settings.file_mode = mt_setting_mode(mt_settings.mode);
    mt_settings.is_light = !strcmp(mt_settings.light, "1");
    mt_settings.has_uses = !strcmp(mt_settings.uses, "1") && !mt_settings.is_light;
    if (!strcmp(mt_settings.uses, "1") && mt_settings.is_light)
        mt_message("light recordings do not record uses; ignoring MEMTAP_USES");
    mt_settings.keep_bytes = mt_setting_size(mt_settings.keep);
    if (mt_settings.is_light && !mt_settings.keep_bytes)
        mt_settings.keep_bytes = LIGHT_KEEPS;
    mt_settings.most_ns = mt_setting_time(mt_settings.limit_time);
    mt_setting_bound(mt_settings.keep_runs, &mt_settings.old_ns, &mt_settings.old_bytes);
    mt_settings.most_events = mt_setting_count(mt_settings.limit_events);
}
