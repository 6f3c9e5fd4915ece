package cluster

import "time"

// Kind is what news are about. The subject is what identifies it, empty where there is nothing to tell apart.
type Kind string

// The kinds. News never say what is new: whoever hears them reads it, so that they may come late, twice or in any
// company, and hold nothing that somebody else should not read.
const (
	APIKey     Kind = "api_key"   // its id: made, changed or revoked
	User       Kind = "user"      // its id: changed, disabled, deleted, or its sessions ended
	Session    Kind = "session"   // its id: ended
	Workspace  Kind = "workspace" // its id: made or changed
	Tier       Kind = "tier"      // its name: its numbers changed
	Version    Kind = "version"   // of the API, its number: released, or its end changed, or rehearsed
	Subject    Kind = "subject"   // its workspace and its hash: its data key was destroyed
	Secret     Kind = "secret"    // of the instance: one was kept or removed, or all are sealed anew
	Everything Kind = "all"
)

// News is one message.
type News struct {
	Number  int64 // without gaps, in the order of the commits
	Kind    Kind
	Subject string
	At      time.Time // by the database's clock
}

// Page is what there is to hear at one moment.
type Page struct {
	Head int64  // the number of the last news there are
	News []News // by number, from the one that was asked for on
}

// hear decides what of a page is new to who has heard the news up to a number, of which last was the last; nil where
// that is not known. whole is false where something was missed: numbers are not there, or are other news than those that
// were heard under them.
func hear(known int64, last *News, p *Page) (fresh []News, whole bool) {
	fresh = p.News
	if len(fresh) > 0 && fresh[0].Number == known {
		if last != nil && !last.same(&fresh[0]) {
			return nil, false
		}
		fresh = fresh[1:]
	}
	for i := range fresh {
		if fresh[i].Number != known+int64(i)+1 {
			return nil, false
		}
	}
	return fresh, p.Head == known || len(fresh) > 0 && p.Head >= known+int64(len(fresh))
}

func (n *News) same(other *News) bool {
	return n.Number == other.Number && n.Kind == other.Kind && n.Subject == other.Subject && n.At.Equal(other.At)
}

// distinct leaves out what is said again later.
func distinct(news []News) []News {
	type about struct {
		kind    Kind
		subject string
	}
	seen := make(map[about]bool, len(news))
	var list []News
	for _, n := range news {
		if a := (about{n.Kind, n.Subject}); !seen[a] {
			seen[a] = true
			list = append(list, n)
		}
	}
	return list
}
