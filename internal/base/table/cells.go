package table

import "bytes"

// cells are the cells of a row, whose lines are added one by one.
type cells struct {
	comma byte

	list  []string // at most MaxColumns
	count int

	cell   []byte
	begun  bool // the cell has a character or a quote
	quoted bool // inside of quotes
	closed bool // after the closing quote of the cell
	quotes bool // a cell of the row has quotes
}

// add adds a line with its line break. done is whether the row ends with it. A fault says what is wrong with the row.
func (c *cells) add(line []byte) (done bool, fault string) {
	for len(line) > 0 {
		switch {
		case c.quoted:
			line = c.inQuotes(line)
		case ends(line):
			c.end()
			return true, ""
		case line[0] == c.comma:
			c.end()
			line = line[1:]
		case line[0] == '"' && c.closed: // two quotes stand for one
			c.cell = append(c.cell, '"')
			c.quoted, c.closed = true, false
			line = line[1:]
		case c.closed && line[0] == ' ':
			line = line[1:]
		case c.closed:
			return false, "A text follows a closing quote. A quote inside of quotes is written twice."
		case line[0] == '"' && !c.begun:
			c.begun, c.quoted, c.quotes = true, true, true
			line = line[1:]
		default:
			line = c.plain(line)
		}
	}
	if c.quoted {
		return false, ""
	}
	c.end() // the last line, without a line break
	return true, ""
}

// inQuotes adds text up to the next quote.
func (c *cells) inQuotes(line []byte) []byte {
	n := bytes.IndexByte(line, '"')
	if n < 0 {
		if text, ok := bytes.CutSuffix(line, []byte("\r\n")); ok {
			c.cell = append(append(c.cell, text...), '\n')
		} else {
			c.cell = append(c.cell, line...)
		}
		return nil
	}
	c.cell = append(c.cell, line[:n]...)
	c.quoted, c.closed = false, true
	return line[n+1:]
}

// plain adds text without quotes around it, up to the end of the cell.
func (c *cells) plain(line []byte) []byte {
	n := 0
	for n < len(line) && line[n] != c.comma && line[n] != '\n' && (line[n] != '\r' || !ends(line[n:])) {
		n++
	}
	c.cell = append(c.cell, line[:n]...)
	c.begun = true
	return line[n:]
}

// ends reports whether a line break or nothing follows.
func ends(line []byte) bool {
	switch len(line) {
	case 0:
		return true
	case 1:
		return line[0] == '\n' || line[0] == '\r'
	default:
		return line[0] == '\n' || line[0] == '\r' && line[1] == '\n'
	}
}

func (c *cells) end() {
	if c.count++; c.count <= MaxColumns {
		c.list = append(c.list, string(c.cell))
	}
	c.cell = c.cell[:0]
	c.begun, c.closed = false, false
}

// blank reports whether the row is an empty line.
func (c *cells) blank() bool { return c.count == 1 && c.list[0] == "" && !c.quotes }
