/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* cli/config: any bytes as a config file. A byte 0xff in them is where a secret is put, which no
 * sentence may quote. */
#include "cli/config.h"

#include "fuzz.h"

#define SECRET "Zq7Kanary"
#define SETTINGS_MAX 64

struct taken {
	size_t count;
	size_t refuse_at; /* the setting that is not taken */
	int line;         /* of the last one */
	struct {
		char *option, *value;
	} settings[SETTINGS_MAX];
};

static bool
take(void *context, const struct config_setting *setting, struct problem *problem)
{
	struct taken *taken = context;
	FUZZ_CHECK(setting->line > taken->line);
	FUZZ_CHECK(setting->option[0] != '\0' && strpbrk(setting->option, " \t=#\n") == NULL);
	FUZZ_CHECK(strlen(setting->option) <= CONFIG_LINE_MAX);
	for (const char *byte = setting->value; byte != NULL && *byte != '\0'; byte++)
		FUZZ_CHECK((unsigned char)*byte >= 0x20 || *byte == '\t');
	taken->line = setting->line;
	if (taken->count == taken->refuse_at) {
		problem_set(problem, "not taken");
		return false;
	}
	taken->settings[taken->count].option = strdup(setting->option);
	taken->settings[taken->count++].value = setting->value ? strdup(setting->value) : NULL;
	return true;
}

static bool
parse(const char *text, size_t length, size_t refuse_at, struct taken *taken)
{
	struct problem problem = {.text = ""};
	int line = -1, lines = 1;
	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	*taken = (struct taken){.refuse_at = refuse_at};
	bool good = config_parse(text, length, take, taken, &line, &problem);
	FUZZ_CHECK(line >= taken->line && line <= lines);
	FUZZ_CHECK(good == (problem.text[0] == '\0') && (good || line >= 1));
	FUZZ_CHECK(strstr(problem.text, SECRET) == NULL && strstr(problem.text, "Kanary") == NULL);
	/* What the taker says is passed on with its line. */
	bool refused = strcmp(problem.text, "not taken") == 0;
	FUZZ_CHECK(!refused || (line == taken->line && taken->count == refuse_at));
	return good;
}

static void
forget(struct taken *taken)
{
	for (size_t i = 0; i < taken->count; i++) {
		free(taken->settings[i].option);
		free(taken->settings[i].value);
	}
}

/* Written down in the way that says every byte, it reads as the same. */
static void
check_again(const struct taken *taken)
{
	char *text = NULL;
	size_t length = 0;
	struct taken again;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		abort();
	fputc('\n', out); /* a byte order mark in the first option is none */
	for (size_t i = 0; i < taken->count; i++) {
		fputs(taken->settings[i].option, out);
		if (taken->settings[i].value != NULL)
			fputs(" = \"", out);
		for (const char *byte = taken->settings[i].value; byte && *byte != '\0'; byte++)
			fprintf(out, *byte == '"' || *byte == '\\' ? "\\%c" : "%c", *byte);
		fputs(taken->settings[i].value ? "\"\r\n" : "\n", out);
	}
	fclose(out);
	/* Quotes and escapes may make a line too long. */
	if (length <= CONFIG_LINE_MAX) {
		FUZZ_CHECK(parse(text, length, SETTINGS_MAX, &again));
		FUZZ_CHECK(again.count == taken->count);
		for (size_t i = 0; i < again.count; i++) {
			const char *value = taken->settings[i].value;
			FUZZ_CHECK(!strcmp(again.settings[i].option, taken->settings[i].option));
			FUZZ_CHECK((again.settings[i].value == NULL) == (value == NULL));
			FUZZ_CHECK(value == NULL || !strcmp(again.settings[i].value, value));
		}
		forget(&again);
	}
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = NULL;
	size_t length = 0;
	struct taken taken;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		abort();
	for (size_t i = 0; i < size; i++)
		fwrite(data[i] == 0xff ? SECRET : (const char *)&data[i], 1,
		    data[i] == 0xff ? strlen(SECRET) : 1, out);
	fclose(out);
	char *exact = malloc(length > 0 ? length : 1); /* without the NUL that is behind */
	if (exact == NULL)
		abort();
	memcpy(exact, text, length);
	if (parse(exact, length, SETTINGS_MAX, &taken))
		check_again(&taken);
	forget(&taken);
	parse(exact, length, size % 3, &taken);
	forget(&taken);
	free(exact);
	free(text);
	return 0;
}
