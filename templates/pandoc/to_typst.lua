-- {names, parts, advances, page} -> {body} or {too_wide: [label]}
-- Every text leaves as a Typst string literal, so that none of it can be read as markup or code.
local here = pandoc.path.directory(arg[0])
local common = dofile(pandoc.path.join { here, "common.lua" })
local layout = dofile(pandoc.path.join { here, "layout.lua" })
local input = common.input()
local read = common.reader(input.names)

local function quoted(text)
  return '"' .. text:gsub("\\", "\\\\"):gsub('"', '\\"'):gsub("\n", "\\n"):gsub("\r", "") .. '"'
end
local function raw(code) return pandoc.RawInline("typst", code) end
local function around(before, inlines, after)
  local out = pandoc.Inlines { raw(before) }
  out:extend(inlines)
  out:insert(raw(after))
  return out
end
local function write(blocks)
  return (pandoc.write(pandoc.Pandoc(blocks), { format = "typst", extensions = { smart = false } }, { wrap_text = "wrap-none" }))
end

local function math(m)
  local markup = write { pandoc.Plain { m } }:gsub("%s+$", "")
  return raw("#[#set math.equation(alt: " .. quoted(m.text) .. ");" .. markup .. "]")
end

local function link(l)
  if l.target:sub(1, 1) ~= "#" then return around("#link(" .. quoted(l.target) .. ")[", l.content, "];") end
  local label = l.target:sub(2)
  if not input.names[label] then return l.content end
  return around("#link(label(" .. quoted(label) .. "))[", l.content, "];")
end

local function heading(h)
  local number = h.attributes.number and "#gb-number(" .. quoted(h.attributes.number) .. ");" or ""
  return pandoc.Plain(around("#heading(level: " .. h.level - 1 .. ")[" .. number, h.content, "]"))
end

local literal = {
  Str = function(s) return raw("#" .. quoted(s.text) .. ";") end,
  Code = function(c) return raw("#raw(" .. quoted(c.text) .. ");") end,
  CodeBlock = function(c) return pandoc.RawBlock("typst", "#raw(block: true, " .. quoted(c.text) .. ")") end,
  Math = math,
  Link = link,
  Header = heading,
  Span = function(s) return s.content end,
  Div = function(d) return d.content end,
  RawInline = function(r) if r.format ~= "typst" then return {} end end,
  RawBlock = function(r) if r.format ~= "typst" then return {} end end,
}

local too_wide = pandoc.List {}

-- Typst of one table, whether its page must be turned and whether it may break across pages.
local function grid(tbl, where)
  local plan = layout.fit(tbl, input.advances, input.page)
  if not plan then
    too_wide:insert(where)
    return "", {}
  end
  layout.apply(tbl, plan, function(verdict, inlines)
    return around("#gb-status(" .. quoted(verdict) .. ")[", inlines, "];")
  end)
  local written = write(pandoc.Blocks { tbl }:walk(literal))
  return "#gb-grid(size: " .. plan.size .. "pt, breakable: " .. tostring(not plan.short) .. ")[\n" .. written .. "]\n", plan
end

local function prose(item)
  local out = {}
  for _, block in ipairs(read(item.body, item.kind)) do
    if block.t == "Table" then
      local code, plan = grid(block, "a table in the text")
      table.insert(out, plan.turned and "#page(flipped: true)[\n" .. code .. "]\n" or code)
    else
      table.insert(out, write(pandoc.Blocks { block }:walk(literal)))
    end
  end
  return table.concat(out, "\n")
end

local function notes(div)
  local out = {}
  for _, block in ipairs(div.content) do
    table.insert(out, "[" .. write(pandoc.Blocks { pandoc.Plain(pandoc.utils.blocks_to_inlines { block }) }:walk(literal)) .. "]")
  end
  return "#gb-notes(" .. table.concat(out, ", ") .. ")\n"
end

-- Pandoc's HTML reader takes quadratic time: the body of a long table is read in runs of rows.
local RUN = 400
local function read_html(html)
  local start, body = html:match("^(.-<tbody>)(.*</tr>)%s*</tbody>")
  if not body or select(2, body:gsub("</tr>", "")) <= RUN or select(2, html:gsub("<table", "")) > 1 or html:find("rowspan") then
    return pandoc.read(html, "html")
  end
  local runs, rows = {}, {}
  for row in body:gmatch(".-</tr>") do
    table.insert(rows, row)
    if #rows == RUN then
      table.insert(runs, table.concat(rows))
      rows = {}
    end
  end
  if #rows > 0 then table.insert(runs, table.concat(rows)) end
  local doc = pandoc.read(start .. runs[1] .. html:sub(#start + #body + 1), "html")
  local first = doc.blocks:find_if(function(block) return block.t == "Table" end)
  for i = 2, #runs do
    for _, block in ipairs(pandoc.read("<table><tbody>" .. runs[i] .. "</tbody></table>", "html").blocks) do
      first.bodies:insert(block.bodies[1])
    end
  end
  return doc
end

-- Of foreign HTML only the tables are kept, with the notes of our own.
local function html_table(item, where)
  local out, turned, tall = {}, false, false
  local doc = read_html(item.body)
  doc:walk {
    traverse = "topdown",
    Table = function(tbl)
      local code, plan = grid(tbl, where)
      turned = turned or plan.turned
      tall = tall or not plan.short
      table.insert(out, code)
      return tbl, false
    end,
    Div = function(div)
      if not div.classes:includes("gb-notes") then return nil end
      table.insert(out, notes(div))
      return div, false
    end,
  }
  return table.concat(out, "\n"), turned, tall
end

local function show(item, where)
  if item.kind == "prose" or item.kind == "sentence" then return prose(item), false end
  if item.kind == "table" then return html_table(item, where) end
  if item.kind == "image" then
    return "#gb-image(" .. quoted(item.body) .. ', "svg", ' .. quoted(item.alt) .. ")\n", false
  end
  return "#raw(block: true, " .. quoted(item.body) .. ")\n", false
end

local function part_code(part)
  local float, out, turned, breakable = part.float, {}, false, false
  for _, item in ipairs(part.shown) do
    local code, turn, tall = show(item, float and float.label or "a table without a label")
    turned = turned or turn
    breakable = breakable or tall
    table.insert(out, code)
  end
  local code = table.concat(out, "\n")
  if float then
    local kind = float.noun == "Table" and "table" or "image"
    code = "#gb-float(kind: " .. kind .. ", breakable: " .. tostring(breakable or false) .. ", name: " .. quoted(float.name) .. ", caption: " .. quoted(float.caption)
      .. ")[\n" .. code .. "] <" .. float.label .. ">\n"
  end
  return turned and "#page(flipped: true)[\n" .. code .. "]\n" or code
end

local body = {}
for _, part in ipairs(input.parts) do table.insert(body, part_code(part)) end
print(pandoc.json.encode { body = table.concat(body, "\n"), too_wide = too_wide })
