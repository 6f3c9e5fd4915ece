package app_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// shopSettings are settings of every kind. The rows of synonyms lead in a circle, and no document has the last field.
var shopSettings = client.CollectionSettings{
	Language: new("de"),
	Synonyms: []client.Synonym{
		{Words: []string{"sofa", "couch"}},
		{Words: []string{"couch", "divan"}},
		{Words: []string{"divan", "sofa"}},
		{From: "tv", To: []string{"fernseher", "bildschirm"}},
		{List: "english"},
	},
	Fields: map[string]float64{"title": 3, "text": 1, "metadata.maker": 2, "metadata.none": 5},
}

// shopQueries have answers that each depend on a setting: on a synonym in one direction and in a circle, on the program's list, on the
// language (Stühlen is a form of Stuhl in German alone), on a weight, and on a field of the metadata.
var shopQueries = []struct{ q, want string }{
	{"couch", "[sofa]"},
	{"divan", "[sofa]"},
	{"tv", "[screen]"},
	{"fernseher", "[screen]"},
	{"bildschirm", "[]"},
	{"physician", "[clinic]"},
	{"Stühlen", "[chair]"},
	{"Ahlmann", "[chair sofa]"},
	{"eiche", "[table chair]"},
	{"buche", "[]"},
}

type shop struct{ key string }

// fill stores documents with settings, changes others of a second collection, and removes those of a third.
func (s *shop) fill(t *testing.T, p *apptest.Running) {
	t.Helper()
	s.key = p.Key
	c := s.client(t, p)
	for _, d := range []client.NewDocument{
		{ID: "sofa", Title: "Sofa", Text: "Drei Sitze.", Metadata: map[string]any{"maker": "Ahlmann"}},
		{ID: "screen", Title: "Fernseher", Text: "55 Zoll."},
		{ID: "clinic", Title: "Doctor", Text: "Wartezimmer."},
		{ID: "chair", Title: "Stuhl", Text: "Von Ahlmann, aus Eiche.", Metadata: map[string]any{"maker": "Ahlmann"}},
		{ID: "table", Title: "Eiche", Text: "Ein Tisch.", Metadata: map[string]any{"wood": "buche"}},
	} {
		d.Collection = "shop"
		if _, err := c.CreateDocument(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"shop", "later", "gone"} {
		if _, err := c.PutCollection(t.Context(), name, nil, shopSettings); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.PutCollection(t.Context(), "later", nil, client.CollectionSettings{Language: new("fr")}); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteCollection(t.Context(), "gone", nil); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) client(t *testing.T, p *apptest.Running) *client.Client {
	t.Helper()
	c, err := client.New(p.URL, s.key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answers checks every query, and returns the settings and all answers with their scores.
func (s *shop) answers(t *testing.T, p *apptest.Running) (all []string) {
	t.Helper()
	c := s.client(t, p)
	for _, query := range shopQueries {
		found, err := c.Search(t.Context(), client.Query{Q: query.q, Collection: "shop", Fuzzy: "off"})
		if err != nil {
			t.Fatal(err)
		}
		ids := []string{}
		for _, r := range found.Results {
			ids = append(ids, r.ID)
			all = append(all, fmt.Sprint(query.q, r.ID, r.Score))
		}
		if got := "[" + strings.Join(ids, " ") + "]"; got != query.want {
			t.Errorf("%s: got %s, want %s", query.q, got, query.want)
		}
	}
	for found, err := range c.EachCollection(t.Context(), client.CollectionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if found.Collection == "shop" && !reflect.DeepEqual(found.CollectionSettings, shopSettings) {
			t.Errorf("the settings are %+v", found.CollectionSettings)
		}
		all = append(all, fmt.Sprint(found.Collection, found.Documents, *found.Language, found.Synonyms, found.Fields, found.Revision, found.UpdatedAt))
	}
	return all
}

func (s *shop) answersAlike(t *testing.T, p *apptest.Running, want []string) {
	t.Helper()
	if got := s.answers(t, p); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestARestoredCollectionAnswersAlike(t *testing.T) {
	t.Parallel()
	var s shop
	p := apptest.Start(t)
	s.fill(t, p)
	before := s.answers(t, p)
	data, keys := backUp(t, p.Config.Data)
	restored := apptest.Local(t, restore(t, p, data, keys, instance.JournalPath(p.Config.Data)))
	again := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data, c.DatabaseURL = restored.Data, restored.DatabaseURL }))
	s.answersAlike(t, again, before)
}

func TestAMovedCollectionAnswersAlike(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "it begins in a folder, and goes through a database by itself")
	testtier.Long(t, "starts the program three times and moves its data twice")
	var s shop
	var before []string
	at := func(folder string, p instance.Place) apptest.Option {
		return apptest.With(func(c *config.Config) { c.Data, c.DatabaseURL, c.KeysURL = folder, p.DatabaseURL, p.KeysURL })
	}
	move := func(from, to instance.Place) {
		t.Helper()
		if _, err := instance.Move(t.Context(), apptest.InstanceOptions(), instance.MoveRequest{From: from, To: to}); err != nil {
			t.Fatal(err)
		}
	}
	old := t.TempDir()
	t.Run("before", func(t *testing.T) {
		p := apptest.Start(t, at(old, instance.Place{}))
		s.fill(t, p)
		before = s.answers(t, p)
	})
	database := instance.Place{DatabaseURL: enginetest.Postgres(t), KeysURL: enginetest.Postgres(t)}
	move(instance.Place{Folder: old}, database)
	served, back := filepath.Join(t.TempDir(), "served"), filepath.Join(t.TempDir(), "back")
	carryFiles(t, old, served)
	t.Run("on the database", func(t *testing.T) { s.answersAlike(t, apptest.Start(t, at(served, database)), before) })
	move(database, instance.Place{Folder: back})
	carryFiles(t, served, back)
	t.Run("in a folder again", func(t *testing.T) { s.answersAlike(t, apptest.Start(t, at(back, instance.Place{})), before) })
}
