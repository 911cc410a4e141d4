-- {names, pieces: [{kind, body}]} -> {pieces: [html], toc: [{level, id, number, title}]}
-- With `pages` each piece is a page of our own, without section numbers and with a toc of its own.
local common = dofile(pandoc.path.join { pandoc.path.directory(arg[0]), "common.lua" })
local input = common.input()
local read, toc = common.reader(input.names, input.pages)

local function numbered(h)
  local n = h.attributes.number
  h.attributes.number = nil
  if n and not input.pages then
    h.content:insert(1, pandoc.Span(pandoc.Inlines { pandoc.Str(n) }, pandoc.Attr("", { "gb-number" })))
    h.content:insert(2, pandoc.Space())
  end
  return h
end

-- The page's policy forbids style attributes: alignment becomes a class.
local regions = 0
local function plain_table(t)
  local right = {}
  for i, spec in ipairs(t.colspecs) do
    right[i] = spec[1] == "AlignRight"
    t.colspecs[i] = { "AlignDefault", nil }
  end
  local function rows(list)
    for _, row in ipairs(list) do
      for i, cell in ipairs(row.cells) do
        if right[i] then cell.classes:insert("num") end
        cell.alignment = "AlignDefault"
      end
    end
  end
  rows(t.head.rows)
  for _, body in ipairs(t.bodies) do rows(body.body) end
  t.attr = pandoc.Attr("", { "gb-table" })
  if not input.pages then return t end
  regions = regions + 1
  local attributes = { role = "region", tabindex = "0", ["aria-label"] = "Table " .. regions }
  return pandoc.Div({ t }, pandoc.Attr("", { "gb-scroll" }, attributes))
end

local out, tocs = {}, {}
for i, piece in ipairs(input.pieces) do
  if input.pages then
    read, toc = common.reader(input.names, true)
    tocs[i] = pandoc.List(toc)
  end
  local blocks = read(piece.body, piece.kind):walk { Header = numbered, Table = plain_table }
  out[i] = pandoc.write(pandoc.Pandoc(blocks), "html", { html_math_method = "mathml", wrap_text = "wrap-none" })
end
if #out == 0 then out = pandoc.List {} end
print(pandoc.json.encode { pieces = out, toc = input.pages and pandoc.List(tocs) or pandoc.List(toc) })
