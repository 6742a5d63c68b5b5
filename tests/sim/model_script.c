/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* EVAL and what belongs to it: the scripts, compiled once for all models of the process. */
#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <stdlib.h>
#include <string.h>

#include "model_lua.h"
#include "model_parts.h"
#include "sha1.h"

#define MOST_KINDS 24
#define KIND_LENGTH 24

struct script {
	char *text;
	size_t length;
	char sha1[41];
	int reference; /* in Lua's registry: the function */
	struct {
		char name[KIND_LENGTH];
		uint64_t count;
	} kinds[MOST_KINDS];
};

static struct script *scripts;
static size_t script_count, script_room;

/* -- the scripts that there are --------------------------------------------------------------- */

/* NULL, and the error was answered, when it does not compile. */
static struct script *
find_by_text(struct model *model, const struct word *text)
{
	lua_State *lua = lua_of_models();
	for (size_t i = 0; i < script_count; i++) {
		if (words_equal(scripts[i].text, scripts[i].length, text->at, text->length))
			return &scripts[i];
	}
	if (luaL_loadbuffer(lua, text->at, text->length, "@user_script") != 0) {
		answer_error(model, "ERR Error compiling script (new function): %s",
		    lua_tostring(lua, -1));
		lua_pop(lua, 1);
		return NULL;
	}
	if (script_count == script_room) {
		script_room = script_room * 2 + 32;
		scripts = model_allocate(scripts, script_room * sizeof *scripts);
	}
	struct script *script = &scripts[script_count++];
	*script = (struct script){.length = text->length};
	script->text = model_allocate(NULL, text->length + 1);
	memcpy(script->text, text->at, text->length);
	sha1_hex(text->at, text->length, script->sha1);
	script->reference = luaL_ref(lua, LUA_REGISTRYINDEX);
	return script;
}

static void
make_known(struct model *model, const struct script *script)
{
	size_t which = (size_t)(script - scripts);
	if (which >= model->known.used) {
		size_t more = which + 1 - model->known.used;
		bytes_reserve(&model->known, more);
		memset(model->known.at + model->known.used, 0, more);
		model->known.used += more;
	}
	model->known.at[which] = 1;
}

static struct script *
find_by_hash(struct model *model, const struct word *hash)
{
	for (size_t i = 0; i < model->known.used && hash->length == 40; i++) {
		if (model->known.at[i] && word_is_like(hash, scripts[i].sha1))
			return &scripts[i];
	}
	return NULL;
}

void
scripts_forget(struct model *model)
{
	model->known.used = 0;
}

bool
model_forget_scripts(struct model *model)
{
	bool knew = model->known.used > 0;
	scripts_forget(model);
	return knew;
}

/* -- what they answer ------------------------------------------------------------------------- */

static void
count_kind(struct script *script, const char *name)
{
	size_t i = 0;
	for (; i < MOST_KINDS - 1 && script->kinds[i].count > 0; i++) {
		if (strcmp(script->kinds[i].name, name) == 0)
			break;
	}
	if (script->kinds[i].count++ == 0)
		strncpy(script->kinds[i].name, name, KIND_LENGTH - 1);
}

/* The word is upper case, as all of ours are; what is none is counted as one. */
static void
count_word(struct script *script, const char *text, bool is_error)
{
	char name[KIND_LENGTH] = "-";
	size_t used = is_error ? 1 : 0, begin = used;
	while (*text >= 'A' && *text <= 'Z' && used < sizeof name - 1)
		name[used++] = *text++;
	name[used] = '\0';
	count_kind(script, used > begin ? name : is_error ? "-error" : "text");
}

/* The answer is on top of the stack. */
static void
count_answer(struct script *script, lua_State *lua, bool has_failed)
{
	if (lua_type(lua, -1) == LUA_TNUMBER) {
		double number = lua_tonumber(lua, -1);
		count_kind(script,
		    number == 0       ? "0"
			: number == 1 ? "1"
			: number < 0  ? "-1"
				      : "number");
	} else if (lua_type(lua, -1) == LUA_TTABLE) {
		lua_getfield(lua, -1, "err");
		bool is_error = has_failed || lua_type(lua, -1) == LUA_TSTRING;
		if (!is_error) {
			lua_pop(lua, 1);
			lua_rawgeti(lua, -1, 1);
		}
		if (lua_type(lua, -1) == LUA_TSTRING)
			count_word(script, lua_tostring(lua, -1), is_error);
		else
			count_kind(script, "array");
		lua_pop(lua, 1);
	} else {
		count_kind(script, lua_toboolean(lua, -1) ? "text" : "nil");
	}
}

void
model_tell_replies(void (*tell)(void *context, const char *sha1, const char *kind, uint64_t count),
    void *context)
{
	for (size_t i = 0; i < script_count; i++) {
		for (size_t k = 0; k < MOST_KINDS && scripts[i].kinds[k].count > 0; k++)
			tell(context, scripts[i].sha1, scripts[i].kinds[k].name,
			    scripts[i].kinds[k].count);
	}
}

/* -- running ---------------------------------------------------------------------------------- */

static void
run_script(struct request *request, struct script *script, size_t key_count)
{
	struct model *model = request->model;
	const struct word *arguments = request->words + 3 + key_count;
	int db = model->db;
	model->script_keys = request->words + 3;
	model->script_key_count = key_count;
	model->script_wrote = false;
	model->frame_count = 0;
	model->lua = lua_of_models();
	lua_set_array(model->lua, "KEYS", request->words + 3, key_count);
	lua_set_array(model->lua, "ARGV", arguments, request->count - 3 - key_count);
	bool has_failed = !lua_run(model, script->reference);
	lua_State *lua = model->lua;
	model->lua = NULL;
	model->db = db;
	count_answer(script, lua, has_failed);
	if (has_failed)
		lua_answer_failure(model, lua, script->sha1);
	else
		lua_answer_value(model, lua);
	lua_settop(lua, 0);
}

/* False, and an error was answered. */
static bool
read_key_count(struct request *request, size_t *count)
{
	int64_t number;
	if (!word_read_integer(&request->words[2], &number))
		answer_error(request->model, "ERR value is not an integer or out of range");
	else if (number > (int64_t)request->count - 3)
		answer_error(request->model,
		    "ERR Number of keys can't be greater than number of args");
	else if (number < 0)
		answer_error(request->model, "ERR Number of keys can't be negative");
	else
		*count = (size_t)number;
	return !request->model->failed;
}

void
run_eval(struct request *request)
{
	size_t key_count = 0;
	request->model->failed = false;
	if (!read_key_count(request, &key_count))
		return;
	struct script *script = find_by_text(request->model, &request->words[1]);
	if (script == NULL)
		return;
	make_known(request->model, script);
	run_script(request, script, key_count);
}

void
run_evalsha(struct request *request)
{
	size_t key_count = 0;
	struct script *script = NULL;
	request->model->failed = false;
	/* What cannot be a hash is told at once. */
	if (request->words[1].length == 40) {
		if (!read_key_count(request, &key_count))
			return;
		script = find_by_hash(request->model, &request->words[1]);
	}
	if (script == NULL)
		answer_error(request->model, "NOSCRIPT No matching script. Please use EVAL.");
	else
		run_script(request, script, key_count);
}

/* -- SCRIPT ----------------------------------------------------------------------------------- */

void
run_script_load(struct request *request)
{
	const struct script *script = find_by_text(request->model, &request->words[2]);
	if (script == NULL)
		return;
	make_known(request->model, script);
	answer_words(request->model, script->sha1);
}

void
run_script_exists(struct request *request)
{
	answer_array(request->model, request->count - 2);
	for (size_t i = 2; i < request->count; i++)
		answer_integer(request->model,
		    find_by_hash(request->model, &request->words[i]) != NULL);
}

void
run_script_flush(struct request *request)
{
	const struct word *words = request->words;
	if (request->count > 3 ||
	    (request->count == 3 && !word_is_like(&words[2], "sync") &&
		!word_is_like(&words[2], "async"))) {
		answer_error(request->model, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
		return;
	}
	scripts_forget(request->model);
	answer_ok(request->model);
}
