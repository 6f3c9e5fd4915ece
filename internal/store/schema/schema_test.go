package schema_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"keepsake/internal/store/schema"
)

// released is the schema version that the last release knows of each part. It is set with each release. Until the first release,
// a change of the schema changes migration 1.
var released = map[string]int64{"main": 1, "keys": 1, "usage": 1}

func stepsOf(t *testing.T, engine, part string) []schema.Step {
	t.Helper()
	steps, err := schema.Read(part, os.DirFS("../"+engine))
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) == 0 {
		t.Fatalf("%s has no steps of %s", engine, part)
	}
	return steps
}

// The rule of docs/decisions/0019: a schema grows in one release and shrinks in a later one.
func TestLastReleaseWorksOnTheNewSchema(t *testing.T) {
	t.Parallel()
	for part, known := range released {
		for _, engine := range []string{"sqlite", "postgres"} {
			for _, s := range stepsOf(t, engine, part) {
				if s.Number > known && s.Oldest > known {
					t.Errorf("%s %s/%s: programs must know %d, and the last release knows %d: stop using it now, take it away a release later",
						engine, part, s.Name, s.Oldest, known)
				}
			}
		}
	}
}

func TestBreakingMigrationsDeclareIt(t *testing.T) {
	t.Parallel()
	for part, known := range released {
		for _, engine := range []string{"sqlite", "postgres"} {
			for _, s := range stepsOf(t, engine, part) {
				if s.Number <= known {
					continue
				}
				if why := doubtful(s.Text); why != "" && !s.Said {
					t.Errorf("%s %s/%s: %s: say `-- keepsake: oldest N`, the number that a program must know to work on it",
						engine, part, s.Name, why)
				}
			}
		}
	}
}

func TestBothEnginesDeclareTheSameVersions(t *testing.T) {
	t.Parallel()
	for part := range released {
		one, other := stepsOf(t, "sqlite", part), stepsOf(t, "postgres", part)
		if len(one) != len(other) {
			t.Errorf("%s: %d and %d steps", part, len(one), len(other))
			continue
		}
		for i := range one {
			if one[i].Number != other[i].Number || one[i].Oldest != other[i].Oldest {
				t.Errorf("%s: %s asks for %d, %s for %d", part, one[i].Name, one[i].Oldest, other[i].Name, other[i].Oldest)
			}
		}
	}
}

var (
	comment  = regexp.MustCompile(`(?m)--.*$`)
	newTable = regexp.MustCompile(`^create( unlogged)? table (\w+) `)
	newIndex = regexp.MustCompile(`^create( unique)? index \w+ on (\w+) `)
	newOne   = regexp.MustCompile(`^alter table \w+ add column \w+ `)
	refers   = regexp.MustCompile(`\breferences (\w+)`)
	asks     = regexp.MustCompile(`\b(unique|primary key|references|check|generated)\b`)
)

// doubtful returns the statement of a migration that an older program may not be able to work with, or may have to wait
// for. It returns "" if the migration only creates tables, or adds columns with safe defaults.
func doubtful(text string) string {
	made := map[string]bool{}
	for s := range strings.SplitSeq(comment.ReplaceAllString(text, ""), ";") {
		s = strings.ToLower(strings.Join(strings.Fields(s), " "))
		switch m := []string(nil); {
		case s == "":
		case newTable.MatchString(s):
			m = newTable.FindStringSubmatch(s)
			made[m[2]] = true
			for _, r := range refers.FindAllStringSubmatch(s, -1) {
				if !made[r[1]] {
					return "a program that does not know " + m[2] + " cannot delete from " + r[1]
				}
			}
		case newIndex.MatchString(s):
			if table := newIndex.FindStringSubmatch(s)[2]; !made[table] {
				return "an index on " + table + " keeps everybody from writing while it is made"
			}
		case newOne.MatchString(s) && !strings.Contains(s, ",") && !asks.MatchString(s) && (!strings.Contains(s, "not null") || strings.Contains(s, " default ")):
		default:
			return fmt.Sprintf("%.60q is not known to be harmless", s)
		}
	}
	return ""
}

func TestDoubtfulStatements(t *testing.T) {
	t.Parallel()
	for _, harmless := range []string{
		"CREATE TABLE a (id BIGINT NOT NULL PRIMARY KEY);\nCREATE TABLE b (a BIGINT REFERENCES a (id)); CREATE UNIQUE INDEX x ON b (a);",
		"-- DROP TABLE a;\nALTER TABLE a ADD COLUMN b TEXT;",
		"ALTER TABLE a\n  ADD COLUMN b TEXT COLLATE \"C\" NOT NULL DEFAULT '';",
	} {
		if why := doubtful(harmless); why != "" {
			t.Errorf("%s: %s", harmless, why)
		}
	}
	for _, doubted := range []string{
		"DROP TABLE a;", "DROP INDEX a;", "ALTER TABLE a DROP COLUMN b;", "ALTER TABLE a RENAME TO b;", "ALTER TABLE a RENAME COLUMN b TO c;",
		"ALTER TABLE a ADD COLUMN b BIGINT NOT NULL;", "ALTER TABLE a ADD COLUMN b BIGINT UNIQUE;", "ALTER TABLE a ADD COLUMN b BIGINT DEFAULT 1 CHECK (b > 0);",
		"ALTER TABLE a ALTER COLUMN b SET NOT NULL;", "ALTER TABLE a ALTER COLUMN b TYPE BIGINT;", "ALTER TABLE a ADD CONSTRAINT c CHECK (b > 0);",
		"ALTER TABLE a ADD COLUMN b TEXT, DROP COLUMN c;", "CREATE INDEX x ON a (b);", "CREATE TABLE b (a BIGINT REFERENCES a (id));",
		"UPDATE a SET b = 1;", "DELETE FROM a;", "CREATE TRIGGER t BEFORE INSERT ON a BEGIN SELECT 1;",
	} {
		if doubtful(doubted) == "" {
			t.Errorf("%s: taken for harmless", doubted)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	tree := func(files ...string) fstest.MapFS {
		m := fstest.MapFS{}
		for i := 0; i < len(files); i += 2 {
			m["migration/main/"+files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
		}
		return m
	}
	steps, err := schema.Read("main",
		tree("0003_c.sql", "-- What goes.\n-- keepsake: oldest 2, because a is gone.\nDROP TABLE a;", "0001_a.sql", "", "0002_b.sql", ""),
		tree("0009_d.sql", ""))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range steps {
		got = append(got, fmt.Sprint(s.Number, " ", s.Oldest, " ", s.Said))
	}
	if want := "[1 1 false 2 1 false 3 2 true 9 2 false]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if schema.Last(steps) != 9 || schema.OldestAt(2, steps) != 1 || schema.OldestAt(8, steps) != 2 {
		t.Errorf("last %d, oldest at 2 is %d, at 8 %d", schema.Last(steps), schema.OldestAt(2, steps), schema.OldestAt(8, steps))
	}
	for name, wrong := range map[string]fstest.MapFS{
		"a name without a number": tree("next.sql", ""),
		"one number twice":        tree("0001_a.sql", "", "0001_b.sql", ""),
		"more than there is":      tree("0001_a.sql", "-- keepsake: oldest 2"),
		"less than before":        tree("0001_a.sql", "", "0002_b.sql", "-- keepsake: oldest 2", "0003_c.sql", "-- keepsake: oldest 1"),
		"no number":               tree("0001_a.sql", "-- keepsake: oldest one"),
		"two answers":             tree("0001_a.sql", "", "0002_b.sql", "-- keepsake: oldest 1\n-- keepsake: oldest 2"),
	} {
		if _, err := schema.Read("main", wrong); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
