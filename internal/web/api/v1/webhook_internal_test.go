package v1

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/event"
)

// Struct tags repeat the names of events, because a tag cannot be computed.
func TestWebhooksOfferEveryEvent(t *testing.T) {
	t.Parallel()
	var all []string
	for _, one := range event.Types {
		all = append(all, string(one))
	}
	body := func(of any) reflect.Type {
		field, _ := reflect.TypeOf(of).FieldByName("Body")
		return field.Type
	}
	for _, c := range []struct {
		in    reflect.Type
		field string
		want  []string
	}{
		{body(createWebhook{}), "Events", all},
		{body(changeWebhook{}), "Events", all},
		{reflect.TypeFor[listDeliveries](), "Event", append(slices.Clone(all), string(event.Ping))},
	} {
		field, ok := c.in.FieldByName(c.field)
		got := strings.Split(field.Tag.Get("enum"), ",")
		slices.Sort(got) // event.Types is in the order of stored bits
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, got); !ok || diff != "" {
			t.Errorf("%s of %v: %s", c.field, c.in, diff)
		}
	}
}
