-- How a table fits the page: as it is, wrapped, smaller, on a turned page, with broken words; or not at all.
local layout = {}

local SIZES = { 9, 8.5, 8, 7.5, 7, 6.5 }
local BOLD, SLACK, INSET = 1.07, 1.03, 0.9 -- factors of a width; INSET is both sides of a cell in em
local ZWSP, NBSP = "\u{200b}", "\u{a0}"
local LONGEST = 12 -- characters of a word that is broken as the last resort
local COMFORT = 9 -- em that a column of words keeps while smaller type or a turned page can give them
local SHORT = 16 -- lines of a table that is kept on one page

local function width(text, advances)
  local sum = 0
  for _, code in utf8.codes(text) do
    local char = utf8.char(code)
    sum = sum + (advances[char == NBSP and " " or char] or 1)
  end
  return sum
end

-- A break after a mark inside a word, but never inside a number: .159 is not a point and 159.
local function soft(word)
  return (word:gsub("([/_:=;+-])([%w])", "%1" .. ZWSP .. "%2"):gsub("([.,])(%a)", "%1" .. ZWSP .. "%2"))
end

local function hard(word)
  local out, run = {}, 0
  for _, code in utf8.codes(soft(word)) do
    local char = utf8.char(code)
    run = char == ZWSP and 0 or run + 1
    if run > LONGEST then
      table.insert(out, ZWSP)
      run = 1
    end
    table.insert(out, char)
  end
  return table.concat(out)
end

local function all_rows(tbl)
  local out = pandoc.List {}
  local function add(rows, head)
    for _, row in ipairs(rows) do out:insert { row = row, head = head } end
  end
  add(tbl.head.rows, true)
  for _, body in ipairs(tbl.bodies) do
    add(body.head, true)
    add(body.body, false)
  end
  add(tbl.foot.rows, false)
  return out
end

-- Every cell with the column where it starts; row spans of earlier rows are stepped over.
local function placed(tbl)
  local out, busy = {}, {}
  for y, line in ipairs(all_rows(tbl)) do
    local x = 1
    for _, cell in ipairs(line.row.cells) do
      local span, height, status = cell.col_span, cell.row_span, nil
      while busy[x] and busy[x] >= y do x = x + 1 end
      for i = x, x + span - 1 do busy[i] = y + height - 1 end
      local classes = cell.classes
      for _, class in ipairs(classes) do status = status or class:match("^status%-(%a+)$") end
      table.insert(out, {
        cell = cell, x = x, y = y, span = span, head = line.head, status = status,
        number = classes:includes("num"), text = pandoc.utils.stringify(cell.contents),
      })
      x = x + span
    end
  end
  return out
end

-- No line begins with a full stop (Unicode line breaking, LB13): the halves of [.01, .06] stay together.
local function glued(text)
  return (text:gsub(" %.", NBSP .. "."))
end

-- Widths in em of the columns: unbroken, and at the least when `breaker` may break words.
local function measured(cells, columns, breaker, advances)
  local natural, least = {}, {}
  for i = 1, columns do natural[i], least[i] = INSET + 1, INSET + 1 end
  local function raise(widths, entry, needed)
    local span, sum = entry.span, 0
    for i = entry.x, math.min(entry.x + span - 1, columns) do sum = sum + widths[i] end
    if needed > sum then
      for i = entry.x, math.min(entry.x + span - 1, columns) do widths[i] = widths[i] + (needed - sum) / span end
    end
  end
  for _, single in ipairs { true, false } do
    for _, entry in ipairs(cells) do
      if (entry.span == 1) == single then
        local factor = (entry.head and BOLD or 1) * SLACK
        local sign = entry.status and 1.2 or 0
        local longest = 0
        for word in glued(entry.text):gmatch("[^ ]+") do
          local broken = (entry.number and not entry.head) and word or breaker(word)
          for piece in (broken .. ZWSP):gmatch("(.-)" .. ZWSP) do longest = math.max(longest, width(piece, advances)) end
        end
        raise(natural, entry, width(entry.text, advances) * factor + INSET + sign)
        raise(least, entry, longest * factor + INSET + sign)
      end
    end
  end
  return natural, least
end

local function total(widths)
  local sum = 0
  for _, w in ipairs(widths) do sum = sum + w end
  return sum
end

-- `least` and a fair part of the room that is left.
local function shared(natural, least, room)
  local part = (room - total(least)) / math.max(total(natural) - total(least), 1e-9)
  local out = {}
  for i = 1, #least do out[i] = least[i] + (natural[i] - least[i]) * part end
  return out
end

local function comfortable(cells, natural, least)
  local out = { table.unpack(least) }
  for _, entry in ipairs(cells) do
    if not entry.head and not entry.number and entry.span == 1 then
      out[entry.x] = math.max(least[entry.x], math.min(natural[entry.x], COMFORT))
    end
  end
  return out
end

-- Lines of text when the columns are as wide as `widths` says.
local function lines(cells, widths, advances)
  local tallest, sum = {}, 0
  for _, entry in ipairs(cells) do
    if entry.span == 1 then
      local n = math.ceil(width(entry.text, advances) / (widths[entry.x] - INSET))
      tallest[entry.y] = math.max(tallest[entry.y] or 1, n)
    end
  end
  for _, n in pairs(tallest) do sum = sum + n end
  return sum
end

-- The first plan that fits, or nil.
function layout.fit(tbl, advances, page)
  local cells, columns = placed(tbl), #tbl.colspecs
  local plan = { cells = cells, columns = columns }
  for _, way in ipairs { "easy", "soft", "hard" } do
    local breaker = way == "hard" and hard or soft
    local natural, least = measured(cells, columns, breaker, advances)
    if way == "easy" then least = comfortable(cells, natural, least) end
    for _, turned in ipairs { false, true } do
      for _, size in ipairs(SIZES) do
        local room = (turned and page.turned or page.upright) / size
        if total(least) <= room then
          plan.size, plan.turned, plan.breaker = size, turned, breaker
          local widths = natural
          if total(natural) > room then
            widths = shared(natural, least, room)
            plan.widths = {}
            for i, w in ipairs(widths) do plan.widths[i] = w / room end
          end
          plan.short = lines(cells, widths, advances) <= SHORT
          return plan
        end
      end
    end
  end
  return nil
end

local function alignment(entry)
  if entry.number then return "AlignRight" end
  if entry.head and entry.span > 1 then return "AlignCenter" end
  return nil
end

-- Write the plan into the table: widths, alignment, broken words, status marks; foreign attributes go.
function layout.apply(tbl, plan, mark)
  local columns = {}
  for _, entry in ipairs(plan.cells) do
    if not entry.head and entry.span == 1 then columns[entry.x] = columns[entry.x] or alignment(entry) or "AlignLeft" end
  end
  for i, spec in ipairs(tbl.colspecs) do
    local own = spec[1] ~= "AlignDefault" and spec[1]
    tbl.colspecs[i] = { own or columns[i] or "AlignLeft", plan.widths and plan.widths[i] or nil }
  end
  for _, entry in ipairs(plan.cells) do
    local cell = entry.cell
    local align = alignment(entry)
    cell.alignment = align and align ~= columns[entry.x] and align or "AlignDefault"
    if plan.widths and not entry.number then
      cell.contents = cell.contents:walk { Str = function(s) return pandoc.Str(plan.breaker(s.text)) end }
    end
    if entry.status then
      cell.contents = { pandoc.Plain(mark(entry.status, pandoc.utils.blocks_to_inlines(cell.contents))) }
    elseif entry.head then
      cell.contents = { pandoc.Plain { pandoc.Strong(pandoc.utils.blocks_to_inlines(cell.contents)) } }
    end
    cell.attr = pandoc.Attr()
  end
  tbl.caption = { long = {}, short = nil }
  tbl.attr = pandoc.Attr("", { "typst:no-figure" })
end

return layout
