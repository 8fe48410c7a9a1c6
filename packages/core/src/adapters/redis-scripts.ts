/**
 * Every command of the store is one of these scripts: Redis runs a script alone, so each is one atomic step.
 * Numbers leave Lua through `%.0f`, for its own format has 14 digits. The first element of each reply is the
 * text "1": a client that parses replies by itself makes it a number, and is found out.
 *
 * KEYS 1 to 3 are a thread's: its hash, its stream (one entry per batch, the id is the seq of its last event),
 * its snapshot. The first write of a script is always one that Redis refuses when its memory is full: after a
 * first write it lets a script finish.
 */
const THREAD = `
local call = redis.call
local gone, head, control, base, snapshot, driver, till, last = unpack(call('HMGET', KEYS[1],
  'gone', 'head', 'control', 'base', 'snapshot', 'driver', 'until', 'batch'))
head, control = tonumber(head or 0), tonumber(control or 0)
base, snapshot = tonumber(base or 0), tonumber(snapshot or 0)
local function id(seq) return string.format('%.0f-0', seq) end
local function now()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
if head == 0 and not gone and call('EXISTS', KEYS[2]) == 1 then return {'1', 'evicted'} end
`;

/** The first entries after a cursor; after the snapshot where the cursor is missing, trimmed away or beyond the head. */
const VIEW = `
local function view(word, after, count)
  local from, text = after, ''
  if not from or from < base or from > head then
    from = snapshot
    if snapshot > 0 then text = call('GET', KEYS[3]) or '' end
  end
  local flat = {}
  for _, entry in ipairs(call('XRANGE', KEYS[2], id(from + 1), '+', 'COUNT', count)) do
    local n = #flat
    flat[n + 1], flat[n + 2], flat[n + 3] = entry[1], entry[2][2], entry[2][4]
  end
  return {'1', word, head, control, from, text, flat, last or ''}
end
`;

/**
 * A row and its places in the index, one sorted set in which all scores are 0: \`kind scope / tail\`, where kind
 * is a (all), r (running) or d (due, its time before the tail), scope \`*\` or \`=owner\`, and tail the row's time,
 * newest first, with its id. A row is stored as \`version time due status owner json\`.
 */
const ROWS = `
local function places(id, time, due, status, owner)
  local tail, list = time .. ':' .. id, {}
  for _, scope in ipairs({'*/', '=' .. owner .. '/'}) do
    list[#list + 1] = 'a' .. scope .. tail
    if status == 'r' then list[#list + 1] = 'r' .. scope .. tail
    elseif due ~= '-' then list[#list + 1] = 'd' .. scope .. due .. tail end
  end
  return list
end
local function parse(row) return string.match(row, '^(%d+) (%x+) (%S+) (%a) (%S*) (.*)$') end
local function unlist(rows, index, id)
  local row = redis.call('HGET', rows, id)
  if not row then return end
  local _, time, due, status, owner = parse(row)
  redis.call('ZREM', index, unpack(places(id, time, due, status, owner)))
  redis.call('HDEL', rows, id)
end
local function list(rows, index, id, version, row)
  row = string.format('%.0f', version) .. ' ' .. row
  local _, time, due, status, owner = parse(row)
  local old, new = redis.call('HGET', rows, id), {}
  redis.call('HSET', rows, id, row)
  for _, place in ipairs(places(id, time, due, status, owner)) do
    new[place] = true
    redis.call('ZADD', index, 0, place)
  end
  if not old then return end
  _, time, due, status, owner = parse(old)
  for _, place in ipairs(places(id, time, due, status, owner)) do
    if not new[place] then redis.call('ZREM', index, place) end
  end
end
`;

/**
 * ARGV: cursor or nothing, entries at most, the batch that ends at the cursor or nothing. Where another one does, the
 * log is not the one that was read before.
 */
export const READ: string = `${THREAD}${VIEW}
if gone then return {'1', 'gone'} end
if head == 0 then return {'1', 'none'} end
local after = tonumber(ARGV[1])
if ARGV[3] ~= '' and after > base and after <= head then
  local entry = call('XRANGE', KEYS[2], id(after), id(after))[1]
  if not entry or entry[2][2] ~= ARGV[3] then return {'1', 'other'} end
end
return view('ok', after, ARGV[2])
`;

/**
 * ARGV: 1 at or control, 2 position, 3 batch, 4 the batch's text, 5 its number of events, 6 which of them is the
 * last control event, 7 the batch that must be at the head, 8 claim or release, 9 driver, 10 ttl, 11 snapshot,
 * 12 channel, 13 id and 14 row for the list, 15 entries of a conflict at most. KEYS 4 and 5, where they can be in
 * one script: rows and index.
 */
export const APPEND: string = `${THREAD}${VIEW}${ROWS}
if gone then return {'1', 'gone'} end
local at, batch, size, offset = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[5]), tonumber(ARGV[6])
if (ARGV[1] == 'at' and head or control) ~= at then return view('conflict', at, ARGV[15]) end
if ARGV[7] ~= '' and ARGV[7] ~= last then return {'1', 'other'} end
if offset == 0 and ARGV[1] ~= 'at' then
  for _, entry in ipairs(call('XRANGE', KEYS[2], id(at + 1), '+')) do
    if entry[2][2] == batch then return view('conflict', at, ARGV[15]) end
  end
end
local time = ARGV[8] == 'claim' and now() or 0
if ARGV[8] == 'claim' and driver and driver ~= ARGV[9] and tonumber(till) > time then
  return {'1', 'held', till}
end
if head == 0 then call('ZMSCORE', KEYS[2], '') end -- a server that does not know it is too old for what follows
local first = head + 1
head = head + size
if offset > 0 then control = head - size + offset end
call('XADD', KEYS[2], id(head), 'b', batch, 'd', ARGV[4])
call('HSET', KEYS[1], 'head', head, 'control', control, 'batch', batch)
if ARGV[8] == 'claim' then
  call('HSET', KEYS[1], 'driver', ARGV[9], 'until', string.format('%.0f', time + tonumber(ARGV[10])))
elseif ARGV[8] == 'release' and driver == ARGV[9] then
  call('HDEL', KEYS[1], 'driver', 'until')
end
if ARGV[11] ~= '' then
  if snapshot > 0 then
    call('XTRIM', KEYS[2], 'MINID', id(snapshot + 1))
    call('HSET', KEYS[1], 'base', snapshot)
  end
  call('SET', KEYS[3], ARGV[11])
  call('HSET', KEYS[1], 'snapshot', head)
end
if ARGV[14] ~= '' then
  if KEYS[4] then list(KEYS[4], KEYS[5], ARGV[13], head, ARGV[14])
  else call('HSET', KEYS[1], 'row', ARGV[14], 'rowAt', head) end
end
if ARGV[12] ~= '' then redis.pcall('PUBLISH', ARGV[12], head) end
return {'1', 'ok', first, head}
`;

/** ARGV: driver, ttl. */
export const LEASE: string = `${THREAD}
local time = now()
if gone or driver ~= ARGV[1] or tonumber(till) <= time then return {'1', 'over'} end
call('HSET', KEYS[1], 'until', string.format('%.0f', time + tonumber(ARGV[2])))
return {'1', 'ok', head, control}
`;

/** ARGV: how long the tombstone stands, channel, id for the list. KEYS 4 and 5 as in APPEND. */
export const REMOVE: string = `${THREAD}${ROWS}
if gone or head == 0 then return {'1', 'none'} end
call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
call('HSET', KEYS[1], 'gone', 1)
call('PEXPIRE', KEYS[1], ARGV[1])
if KEYS[4] then unlist(KEYS[4], KEYS[5], ARGV[3]) end
if ARGV[2] ~= '' then redis.pcall('PUBLISH', ARGV[2], -1) end
return {'1', 'ok'}
`;

/**
 * A page of rows. KEYS: rows, index, marks. ARGV: 1 scope, 2 tail of the row before, 3 rows at most, 4 a (all),
 * r (running) or d (running or due), 5 due until, 6 status or nothing, 7 ms after which a mark is old. Replies with
 * the number of old marks, the tail to go on from or nothing, and rows. Of more than 10,000 due rows those that are
 * due the longest are looked at.
 */
export const LIST: string = `
local scope, cursor, limit, kind, status = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[6]
local step, full = status == '' and limit + 1 or 1000, false
local function range(kind)
  local prefix, found = kind .. scope .. '/', {}
  local from = (cursor == '' and '[' or '(') .. prefix .. cursor
  for _, place in ipairs(redis.call('ZRANGEBYLEX', KEYS[2], from, '(' .. kind .. scope .. '0', 'LIMIT', 0, step)) do
    found[#found + 1] = string.sub(place, #prefix + 1)
  end
  full = #found == step
  return found
end
local tails = {}
if kind ~= 'd' then tails = range(kind)
else
  if status == '' then tails = range('r') end
  local prefix = 'd' .. scope .. '/'
  local due = redis.call('ZRANGEBYLEX', KEYS[2], '[' .. prefix, '(' .. prefix .. ARGV[5] .. 'g', 'LIMIT', 0, 10000)
  for _, place in ipairs(due) do
    local tail = string.sub(place, #prefix + 17)
    if tail > cursor then tails[#tails + 1] = tail end
  end
  table.sort(tails)
end
local time = redis.call('TIME')
local old = string.format('%.0f', time[1] * 1000000 + time[2] - ARGV[7] * 1000)
local reply, last = {'1', cursor == '' and redis.call('ZCOUNT', KEYS[3], '-inf', old) or 0, ''}, ''
for _, tail in ipairs(tails) do
  if #reply == limit + 3 then
    full = true
    break
  end
  last = tail
  local row = redis.call('HGET', KEYS[1], string.sub(tail, 18))
  if row then
    local letter, json = string.match(row, '^%d+ %x+ %S+ (%a) %S* (.*)$')
    if status == '' or status == letter then reply[#reply + 1] = json end
  end
end
if full then reply[3] = last end
return reply
`;

/**
 * Says that a thread's row is about to change, where thread and list cannot be in one script. KEYS: marks.
 * ARGV: id. Replies with the mark's own time, by which it is found again.
 */
export const MARK: string = `
local time = redis.call('TIME')
local mark = math.max(time[1] * 1000000 + time[2], tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) + 1)
mark = string.format('%.0f', mark)
redis.call('ZADD', KEYS[1], mark, ARGV[1])
return {'1', mark}
`;

/** Marks older than so many ms: their writers died on the way. KEYS: marks. ARGV: ms. Replies with ids and marks. */
export const OLD_MARKS: string = `
local time = redis.call('TIME')
local until_ = string.format('%.0f', time[1] * 1000000 + time[2] - ARGV[1] * 1000)
return {'1', redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', until_, 'WITHSCORES', 'LIMIT', 0, 100)}
`;

/** What the list should say of a thread: its row and the seq it came with. KEYS as in READ. */
export const ROW: string = `
local gone, row, at = unpack(redis.call('HMGET', KEYS[1], 'gone', 'row', 'rowAt'))
if gone then return {'1', 'gone'} end
if not row then return {'1', 'none'} end
return {'1', 'ok', row, at}
`;

/**
 * Brings a thread's row into the list, unless a newer one is there or the thread was removed, or takes it out, and
 * clears its mark. KEYS: rows, index, marks, removed. ARGV: id, list or unlist or nothing, mark, row, its seq.
 */
export const WRITE_ROW: string = `${ROWS}
local id = ARGV[1]
if ARGV[2] == 'list' and not redis.call('ZSCORE', KEYS[4], id) then
  local old = redis.call('HGET', KEYS[1], id)
  if not old or tonumber((parse(old))) < tonumber(ARGV[5]) then list(KEYS[1], KEYS[2], id, tonumber(ARGV[5]), ARGV[4]) end
elseif ARGV[2] == 'unlist' then
  local seconds = redis.call('TIME')[1]
  redis.call('ZADD', KEYS[4], seconds, id)
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', seconds - 86400)
  unlist(KEYS[1], KEYS[2], id)
end
if tonumber(redis.call('ZSCORE', KEYS[3], id) or -1) == tonumber(ARGV[3]) then redis.call('ZREM', KEYS[3], id) end
return {'1', 'ok'}
`;
