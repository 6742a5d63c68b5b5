/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "model_lua.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lualib.h>
#include <string.h>

#include "sha1.h"

/* Whose script runs: the functions that a script calls find it here. */
static struct model *running;

/* -- errors ----------------------------------------------------------------------------------- */

/* {err = text}, on top of the stack. */
static int
push_error(lua_State *lua, const char *text)
{
	lua_createtable(lua, 0, 1);
	lua_pushstring(lua, text);
	lua_setfield(lua, -2, "err");
	return 1;
}

/* Where it happened goes into the error; a text becomes one. */
static int
add_place(lua_State *lua)
{
	lua_Debug where;
	bool is_known = lua_getstack(lua, 1, &where) && lua_getinfo(lua, "nSl", &where);
	if (is_known && strcmp(where.what, "C") == 0)
		is_known = lua_getstack(lua, 2, &where) && lua_getinfo(lua, "nSl", &where);
	if (lua_type(lua, -1) != LUA_TTABLE) {
		const char *text = lua_tostring(lua, -1);
		lua_createtable(lua, 0, 3);
		lua_pushfstring(lua, "ERR %s", text != NULL ? text : luaL_typename(lua, -2));
		lua_setfield(lua, -2, "err");
	}
	if (is_known) {
		lua_pushstring(lua, where.source);
		lua_setfield(lua, -2, "source");
		lua_pushinteger(lua, where.currentline);
		lua_setfield(lua, -2, "line");
	}
	return 1;
}

/* -- redis.* ---------------------------------------------------------------------------------- */

/* NULL, or why a script may not send that now. */
static const char *
find_obstacle(struct model *model, const struct command *command, size_t count)
{
	if (command == NULL)
		return "ERR Unknown Redis command called from script";
	if (command->arity > 0 ? count != (size_t)command->arity : count < (size_t)-command->arity)
		return "ERR Wrong number of args calling Redis command from script";
	if (command->flags & NOT_IN_SCRIPT)
		return "ERR This Redis command is not allowed from script";
	if (command_is_refused(model, command))
		return "ERR The user executing the script can't run this command or subcommand";
	if (!(command->flags & IS_WRITE) || model->script_wrote)
		return NULL;
	if (model->is_replica) {
		model->refusals++;
		return "READONLY You can't write against a read only replica.";
	}
	if (model->is_full && (command->flags & DENIES_FULL)) {
		model->refusals++;
		return "OOM command not allowed when used memory > 'maxmemory'.";
	}
	return NULL;
}

#define NUMBER_LENGTH 40

/* The arguments as words: strings stay where they are in Lua. False: one is neither a string nor a
 * number. */
static bool
read_words(lua_State *lua, size_t count, struct word **words)
{
	static struct word *room;
	static char *numbers;
	static size_t most;
	if (count > most) {
		most = count * 2 + 16;
		room = model_allocate(room, most * sizeof *room);
		numbers = model_allocate(numbers, most * NUMBER_LENGTH);
	}
	for (size_t i = 0; i < count; i++) {
		int at = (int)i + 1;
		if (lua_type(lua, at) == LUA_TNUMBER) {
			char *text = numbers + i * NUMBER_LENGTH;
			room[i] = (struct word){text, write_double(text, lua_tonumber(lua, at))};
		} else {
			room[i].at = lua_tolstring(lua, at, &room[i].length);
			if (room[i].at == NULL)
				return false;
		}
	}
	*words = room;
	return true;
}

static int
call(lua_State *lua, bool raises)
{
	struct model *model = running;
	size_t count = (size_t)lua_gettop(lua);
	struct word *words;
	const char *obstacle = NULL;
	const struct command *command = NULL;
	bool is_container;
	if (count == 0)
		obstacle = "ERR Please specify at least one argument for this redis lib call";
	else if (!read_words(lua, count, &words))
		obstacle = "ERR Lua redis lib command arguments must be strings or integers";
	if (obstacle == NULL) {
		command = command_find(model, words, count, &is_container);
		obstacle = find_obstacle(model, command, count);
	}
	if (obstacle != NULL) {
		push_error(lua, obstacle);
		return raises ? lua_error(lua) : 1;
	}
	if (command->flags & IS_WRITE)
		model->script_wrote = true;
	struct request request = {model, model->current, command, words, count};
	model->failed = false;
	command_call(&request);
	return raises && model->failed ? lua_error(lua) : 1;
}

static int
redis_call(lua_State *lua)
{
	return call(lua, true);
}

static int
redis_pcall(lua_State *lua)
{
	return call(lua, false);
}

static bool
has_one_text(lua_State *lua)
{
	return lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING;
}

static int
redis_status_reply(lua_State *lua)
{
	if (!has_one_text(lua))
		return push_error(lua, "ERR wrong number or type of arguments");
	lua_createtable(lua, 0, 1);
	lua_pushvalue(lua, 1);
	lua_setfield(lua, -2, "ok");
	return 1;
}

static int
redis_error_reply(lua_State *lua)
{
	if (!has_one_text(lua))
		return push_error(lua, "ERR wrong number or type of arguments");
	const char *text = lua_tostring(lua, 1);
	if (*text == '-')
		text++;
	lua_createtable(lua, 0, 1);
	if (strchr(text, ' ') != NULL)
		lua_pushstring(lua, text);
	else
		lua_pushfstring(lua, "ERR %s", text);
	lua_setfield(lua, -2, "err");
	return 1;
}

static int
redis_sha1hex(lua_State *lua)
{
	char hash[41];
	size_t length;
	const char *text = lua_tolstring(lua, 1, &length);
	if (lua_gettop(lua) != 1 || text == NULL) {
		push_error(lua, "ERR wrong number of arguments");
		return lua_error(lua);
	}
	sha1_hex(text, length, hash);
	lua_pushstring(lua, hash);
	return 1;
}

/* Of an error that has a text the text alone is handed on. */
static int
protected_call(lua_State *lua)
{
	luaL_checkany(lua, 1);
	int status = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
	if (status != 0 && lua_type(lua, -1) == LUA_TTABLE) {
		lua_getfield(lua, -1, "err");
		if (lua_isstring(lua, -1))
			lua_replace(lua, -2);
		else
			lua_pop(lua, 1);
	}
	lua_pushboolean(lua, status == 0);
	lua_insert(lua, 1);
	return lua_gettop(lua);
}

/* -- the sandbox ------------------------------------------------------------------------------ */

static int
no_such_global(lua_State *lua)
{
	return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
	    lua_tostring(lua, 2));
}

static int
no_writing(lua_State *lua)
{
	return luaL_error(lua, "Attempt to modify a readonly table");
}

static void
set_metatable(lua_State *lua, lua_CFunction write)
{
	/* The table that is looked at next, or the function, is on top. */
	lua_createtable(lua, 0, 2);
	lua_insert(lua, -2);
	lua_setfield(lua, -2, "__index");
	lua_pushcfunction(lua, write);
	lua_setfield(lua, -2, "__newindex");
	lua_setmetatable(lua, -2);
}

static void
register_redis(lua_State *lua)
{
	static const luaL_Reg functions[] = {
	    {"call", redis_call},
	    {"pcall", redis_pcall},
	    {"status_reply", redis_status_reply},
	    {"error_reply", redis_error_reply},
	    {"sha1hex", redis_sha1hex},
	    {NULL, NULL},
	};
	luaL_register(lua, "redis", functions);
	lua_pop(lua, 1);
	lua_pushcfunction(lua, protected_call);
	lua_setglobal(lua, "pcall");
}

/* What a script of ours does not use, and is another's in Redis: better none than a wrong one. */
static void
remove_others(lua_State *lua)
{
	static const char *const names[] = {"dofile", "loadfile", "print", "require", "module",
	    "package", "collectgarbage", "gcinfo", "newproxy"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		lua_pushnil(lua);
		lua_setglobal(lua, names[i]);
	}
	lua_getglobal(lua, "math");
	lua_pushnil(lua);
	lua_setfield(lua, -2, "random");
	lua_pushnil(lua);
	lua_setfield(lua, -2, "randomseed");
	lua_pop(lua, 1);
}

static void
open_library(lua_State *lua, lua_CFunction open, const char *name)
{
	lua_pushcfunction(lua, open);
	lua_pushstring(lua, name);
	lua_call(lua, 1, 0);
}

lua_State *
lua_of_models(void)
{
	static lua_State *lua;
	if (lua != NULL)
		return lua;
	lua = luaL_newstate();
	if (lua == NULL)
		lua = model_allocate(NULL, SIZE_MAX / 2); /* ends the process */
	open_library(lua, luaopen_base, "");
	open_library(lua, luaopen_table, LUA_TABLIBNAME);
	open_library(lua, luaopen_string, LUA_STRLIBNAME);
	open_library(lua, luaopen_math, LUA_MATHLIBNAME);
	register_redis(lua);
	remove_others(lua);
	/* Scripts see the globals through an empty table, which they cannot write to; KEYS and ARGV
	 * are in that one. */
	lua_pushcfunction(lua, no_such_global);
	lua_pushvalue(lua, LUA_GLOBALSINDEX);
	lua_insert(lua, -2);
	set_metatable(lua, no_writing);
	lua_newtable(lua);
	lua_insert(lua, -2);
	lua_pushvalue(lua, -2);
	lua_setfield(lua, -2, "_G");
	set_metatable(lua, no_writing);
	lua_replace(lua, LUA_GLOBALSINDEX);
	lua_settop(lua, 0);
	return lua;
}

void
lua_set_array(lua_State *lua, const char *name, const struct word *words, size_t count)
{
	lua_pushstring(lua, name);
	lua_createtable(lua, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		lua_pushlstring(lua, words[i].at, words[i].length);
		lua_rawseti(lua, -2, (int)i + 1);
	}
	lua_rawset(lua, LUA_GLOBALSINDEX);
}

bool
lua_run(struct model *model, int reference)
{
	lua_State *lua = model->lua;
	struct model *before = running;
	running = model;
	lua_pushcfunction(lua, add_place);
	lua_rawgeti(lua, LUA_REGISTRYINDEX, reference);
	int status = lua_pcall(lua, 0, 1, -2);
	running = before;
	return status == 0;
}
