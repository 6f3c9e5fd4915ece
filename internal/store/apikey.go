package store

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/store/cluster"
)

// APIKeys stores API keys.
type APIKeys struct {
	main     *DB
	news     *News
	bindings Bindings // nil: names are neither sealed nor opened
}

// CreateAPIKey implements apikey.Store.
func (s *APIKeys) CreateAPIKey(ctx context.Context, k *apikey.APIKey, max *int64) error {
	row, err := apiKeyRowOf(k)
	if err != nil {
		return err
	}
	return s.main.Run(ctx, func(ctx context.Context) error {
		q := s.main.In(ctx)
		if max != nil {
			n, err := s.CountAPIKeys(ctx, k.WorkspaceID, k.CreatedAt)
			if err != nil {
				return err
			}
			if limit.Full(max, n) {
				return problem.LimitReached("keys", "The workspace has reached the number of API keys that its tier allows.")
			}
		}
		if _, err := q.Exec(ctx, `
			INSERT INTO api_key (id, workspace_id, name, scopes, expires_at, requests_per_minute, daily, monthly, subject_id,
				agent_id, allowed_ips, metadata, created_at, created_by, updated_at, disabled_at, revoked_at, revoke_reason, revision)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
			k.ID, k.WorkspaceID, k.Name, row.scopes, row.expires, k.RequestsPerMinute, k.Daily, k.Monthly,
			s.bound(k.WorkspaceID, boundSubject, k.SubjectID), s.bound(k.WorkspaceID, boundAgent, k.AgentID), row.allowedIPs,
			row.metadata, row.created, k.CreatedBy, row.updated, row.disabled, row.revoked, k.RevokeReason, k.Revision); err != nil {
			return fmt.Errorf("add key %s: %w", k.ID, err)
		}
		s.news.announce(ctx, cluster.APIKey, k.ID)
		return s.addAPIKeySecrets(ctx, k)
	})
}

// CountAPIKeys implements apikey.Store.
func (s *APIKeys) CountAPIKeys(ctx context.Context, workspaceID string, now time.Time) (int64, error) {
	q := s.main.In(ctx)
	// Concurrent writers wait for the row of the workspace.
	if err := s.main.Hold(ctx, `SELECT id FROM workspace WHERE id = $1`, workspaceID); err != nil {
		return 0, fmt.Errorf("hold workspace: %w", err)
	}
	var n int64
	err := q.QueryRow(ctx, `
		SELECT count(*) FROM api_key WHERE workspace_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
		workspaceID, Micros(now)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count keys: %w", err)
	}
	return n, nil
}

// UpdateAPIKey implements apikey.Store.
func (s *APIKeys) UpdateAPIKey(ctx context.Context, k *apikey.APIKey) error {
	row, err := apiKeyRowOf(k)
	if err != nil {
		return err
	}
	return s.main.Run(ctx, func(ctx context.Context) error {
		q := s.main.In(ctx)
		n, err := q.Exec(ctx, `
			UPDATE api_key SET name = $1, scopes = $2, expires_at = $3, requests_per_minute = $4, daily = $5, monthly = $6,
				subject_id = $7, agent_id = $8, allowed_ips = $9, metadata = $10, updated_at = $11, disabled_at = $12,
				revoked_at = $13, revoke_reason = $14, revision = $15
			WHERE workspace_id = $16 AND id = $17 AND revision = $18`,
			k.Name, row.scopes, row.expires, k.RequestsPerMinute, k.Daily, k.Monthly,
			s.bound(k.WorkspaceID, boundSubject, k.SubjectID), s.bound(k.WorkspaceID, boundAgent, k.AgentID), row.allowedIPs,
			row.metadata, row.updated, row.disabled, row.revoked, k.RevokeReason, k.Revision, k.WorkspaceID, k.ID, k.Revision-1)
		if err != nil {
			return fmt.Errorf("change key %s: %w", k.ID, err)
		}
		if n == 1 {
			s.news.announce(ctx, cluster.APIKey, k.ID)
			return s.replaceAPIKeySecrets(ctx, k)
		}
		var there bool
		err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM api_key WHERE workspace_id = $1 AND id = $2)`, k.WorkspaceID, k.ID).Scan(&there)
		if err != nil {
			return fmt.Errorf("read key %s: %w", k.ID, err)
		}
		if !there {
			return problem.Missing()
		}
		return errStale
	})
}

// replaceAPIKeySecrets removes the secrets that a key no longer has, and adds the others.
func (s *APIKeys) replaceAPIKeySecrets(ctx context.Context, k *apikey.APIKey) error {
	args := []any{k.ID}
	var kept []string
	for i, secret := range k.Secrets {
		args, kept = append(args, secret.Hash[:]), append(kept, "$"+strconv.Itoa(i+2))
	}
	_, err := s.main.In(ctx).Exec(ctx, `DELETE FROM api_key_secret WHERE key_id = $1 AND hash NOT IN (`+strings.Join(kept, ", ")+`)`, args...)
	if err != nil {
		return fmt.Errorf("remove secrets of key %s: %w", k.ID, err)
	}
	return s.addAPIKeySecrets(ctx, k)
}

// addAPIKeySecrets adds the secrets of a key. Of existing ones it changes only the end of their validity.
func (s *APIKeys) addAPIKeySecrets(ctx context.Context, k *apikey.APIKey) error {
	for _, secret := range k.Secrets {
		if _, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO api_key_secret (key_id, hash, hint, created_at, valid_until) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (key_id, hash) DO UPDATE SET valid_until = excluded.valid_until`,
			k.ID, secret.Hash[:], secret.Hint, Micros(secret.CreatedAt), maybeMicros(secret.ValidUntil)); err != nil {
			return fmt.Errorf("put secret of key %s: %w", k.ID, err)
		}
	}
	return nil
}

// APIKey implements apikey.Store.
func (s *APIKeys) APIKey(ctx context.Context, workspaceID, id string) (*apikey.APIKey, error) {
	k, err := s.apiKey(ctx, `k.workspace_id = $1 AND k.id = $2`, workspaceID, id)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	return k, nil
}

// APIKeyBySecret implements apikey.Store.
func (s *APIKeys) APIKeyBySecret(ctx context.Context, hash [32]byte) (*apikey.APIKey, error) {
	k, err := s.apiKey(ctx, `k.id = (SELECT key_id FROM api_key_secret WHERE hash = $1)`, hash[:])
	if err != nil {
		return nil, fmt.Errorf("read key by its secret: %w", err)
	}
	return k, nil
}

func (s *APIKeys) apiKey(ctx context.Context, where string, args ...any) (*apikey.APIKey, error) {
	var found *apikey.APIKey
	err := s.eachAPIKey(ctx, selectAPIKey+` FROM api_key k LEFT JOIN api_key_secret s ON s.key_id = k.id
		WHERE `+where+``, args, func(k *apikey.APIKey) error {
		found = clone(k)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, problem.Missing()
	}
	return found, nil
}

// ListAPIKeys implements apikey.Store.
func (s *APIKeys) ListAPIKeys(ctx context.Context, workspaceID string, f apikey.Filter) ([]apikey.APIKey, error) {
	var c Conditions
	c.Where(`k.workspace_id = ?`, workspaceID)
	if err := c.whereState(f.State, Micros(f.Now)); err != nil {
		return nil, err
	}
	if f.CreatedBy != "" {
		c.Where(`k.created_by = ?`, f.CreatedBy)
	}
	if f.SubjectID != "" {
		c.Where(`k.subject_id IN (?, ?)`, f.SubjectID, s.bound(workspaceID, boundSubject, f.SubjectID))
	}
	if f.AgentID != "" {
		c.Where(`k.agent_id IN (?, ?)`, f.AgentID, s.bound(workspaceID, boundAgent, f.AgentID))
	}
	if f.Before != nil {
		c.Where(`(k.created_at, k.id) < (?, ?)`, Micros(f.Before.CreatedAt), f.Before.ID)
	}
	query := selectAPIKey + ` FROM (
			SELECT * FROM api_key k WHERE ` + c.String() + ` ORDER BY k.created_at DESC, k.id DESC LIMIT ` + c.Arg(f.Limit) + `
		) k LEFT JOIN api_key_secret s ON s.key_id = k.id
		ORDER BY k.created_at DESC, k.id DESC`
	var list []apikey.APIKey
	err := s.eachAPIKey(ctx, query, c.Args, func(k *apikey.APIKey) error {
		list = append(list, *clone(k))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

// whereState is the SQL of apikey.APIKey.StateAt.
func (c *Conditions) whereState(state apikey.State, now int64) error {
	const liveSecrets = `(SELECT count(*) FROM api_key_secret l WHERE l.key_id = k.id AND (l.valid_until IS NULL OR l.valid_until > ?))`
	switch state {
	case "":
		return nil
	case apikey.Revoked:
		c.Where(`k.revoked_at IS NOT NULL`)
		return nil
	case apikey.Disabled:
		c.Where(`k.revoked_at IS NULL AND k.disabled_at IS NOT NULL`)
		return nil
	}
	c.Where(`k.revoked_at IS NULL AND k.disabled_at IS NULL`)
	switch state {
	case apikey.Expired:
		c.Where(`k.expires_at <= ?`, now)
	case apikey.Rotating:
		c.Where(`(k.expires_at IS NULL OR k.expires_at > ?)`, now)
		c.Where(liveSecrets+` > 1`, now)
	case apikey.Active:
		c.Where(`(k.expires_at IS NULL OR k.expires_at > ?)`, now)
		c.Where(liveSecrets+` <= 1`, now)
	default:
		return fmt.Errorf("list keys: there is no state of this name")
	}
	return nil
}

// EachAPIKey implements apikey.Store.
func (s *APIKeys) EachAPIKey(ctx context.Context, fn func(k *apikey.APIKey) error) error {
	err := s.eachAPIKey(ctx, selectAPIKey+` FROM api_key k LEFT JOIN api_key_secret s ON s.key_id = k.id
		WHERE k.revoked_at IS NULL ORDER BY k.id`, nil, fn)
	if err != nil {
		return fmt.Errorf("read all keys: %w", err)
	}
	return nil
}

// EachEndedAPIKey calls fn for every key that was revoked or disabled.
func (s *APIKeys) EachEndedAPIKey(ctx context.Context, fn func(k *apikey.APIKey) error) error {
	err := s.eachAPIKey(ctx, selectAPIKey+` FROM api_key k LEFT JOIN api_key_secret s ON s.key_id = k.id
		WHERE k.revoked_at IS NOT NULL OR k.disabled_at IS NOT NULL ORDER BY k.id`, nil, fn)
	if err != nil {
		return fmt.Errorf("read revoked and disabled keys: %w", err)
	}
	return nil
}

// apiKeyRow holds the columns of a key whose type differs from the field's.
type apiKeyRow struct {
	scopes, allowedIPs, metadata string
	created, updated             int64
	expires, disabled, revoked   *int64
	hash                         []byte
	hint                         *string
	secretCreated, secretUntil   *int64
}

func apiKeyRowOf(k *apikey.APIKey) (apiKeyRow, error) {
	metadata, err := metadataText(k.Metadata)
	if err != nil {
		return apiKeyRow{}, fmt.Errorf("key %s: %w", k.ID, err)
	}
	ranges := make([]string, len(k.AllowedIPs))
	for i, r := range k.AllowedIPs {
		ranges[i] = r.String()
	}
	return apiKeyRow{
		scopes: k.Scopes.String(), allowedIPs: strings.Join(ranges, " "), metadata: metadata,
		created: Micros(k.CreatedAt), updated: Micros(k.UpdatedAt),
		expires: maybeMicros(k.ExpiresAt), disabled: maybeMicros(k.DisabledAt), revoked: maybeMicros(k.RevokedAt),
	}, nil
}

// selectAPIKey reads one secret per row; the rows of a key are adjacent. Secrets are sorted in Go, because a start reads all
// keys and SQL would sort all rows.
const selectAPIKey = `SELECT k.id, k.workspace_id, k.name, k.scopes, k.expires_at, k.requests_per_minute, k.daily, k.monthly,
	k.subject_id, k.agent_id, k.allowed_ips, k.metadata, k.created_at, k.created_by, k.updated_at, k.disabled_at, k.revoked_at,
	k.revoke_reason, k.revision, s.hash, s.hint, s.created_at, s.valid_until`

// eachAPIKey calls fn for every key of a selectAPIKey query. The next call reuses k.
func (s *APIKeys) eachAPIKey(ctx context.Context, query string, args []any, fn func(k *apikey.APIKey) error) error {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var k, next apikey.APIKey
	var row apiKeyRow
	dest := []any{
		&next.ID, &next.WorkspaceID, &next.Name, &row.scopes, &row.expires, &next.RequestsPerMinute, &next.Daily, &next.Monthly,
		&next.SubjectID, &next.AgentID, &row.allowedIPs, &row.metadata, &row.created, &next.CreatedBy, &row.updated,
		&row.disabled, &row.revoked, &next.RevokeReason, &next.Revision, &row.hash, &row.hint, &row.secretCreated, &row.secretUntil,
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return fmt.Errorf("scan key: %w", err)
		}
		if next.ID != k.ID {
			if err := visit(&k, fn); err != nil {
				return err
			}
			next.Secrets = k.Secrets[:0]
			k = next
			k.SubjectID = s.boundTo(k.WorkspaceID, boundSubject, k.SubjectID)
			k.AgentID = s.boundTo(k.WorkspaceID, boundAgent, k.AgentID)
			if err := row.into(&k); err != nil {
				return fmt.Errorf("key %s: %w", k.ID, err)
			}
		}
		if row.hint != nil {
			k.Secrets = append(k.Secrets, row.secret())
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return visit(&k, fn)
}

// visit calls fn for a complete key, with its newest secret first: the one that never expires. It does nothing before the first
// key.
func visit(k *apikey.APIKey, fn func(k *apikey.APIKey) error) error {
	if k.ID == "" {
		return nil
	}
	if len(k.Secrets) > 1 {
		slices.SortFunc(k.Secrets, func(a, b apikey.Secret) int {
			if (a.ValidUntil == nil) != (b.ValidUntil == nil) {
				if a.ValidUntil == nil {
					return -1
				}
				return 1
			}
			return b.CreatedAt.Compare(a.CreatedAt)
		})
	}
	return fn(k)
}

func (r *apiKeyRow) into(k *apikey.APIKey) (err error) {
	if k.Scopes, err = scopesOf(r.scopes); err != nil {
		return err
	}
	k.AllowedIPs = nil
	for _, text := range strings.Fields(r.allowedIPs) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return errors.New("decode allowed addresses: not a range")
		}
		k.AllowedIPs = append(k.AllowedIPs, prefix)
	}
	if k.Metadata, err = metadataOf(r.metadata); err != nil {
		return err
	}
	k.CreatedAt, k.UpdatedAt = TimeOf(r.created), TimeOf(r.updated)
	k.ExpiresAt, k.DisabledAt, k.RevokedAt = maybeTime(r.expires), maybeTime(r.disabled), maybeTime(r.revoked)
	return nil
}

func (r *apiKeyRow) secret() apikey.Secret {
	s := apikey.Secret{Hint: *r.hint, CreatedAt: TimeOf(*r.secretCreated), ValidUntil: maybeTime(r.secretUntil)}
	copy(s.Hash[:], r.hash)
	return s
}

func scopesOf(text string) (auth.Scopes, error) {
	var all auth.Scopes
	for name := range strings.FieldsSeq(text) {
		scope, ok := auth.ParseScope(name)
		if !ok {
			return 0, errors.New("decode scopes: one is unknown to this program")
		}
		all |= scope
	}
	return all, nil
}

// clone copies a key that eachAPIKey will reuse.
func clone(k *apikey.APIKey) *apikey.APIKey {
	c := *k
	c.Secrets = append([]apikey.Secret(nil), k.Secrets...)
	return &c
}

// APIKeysByID reads keys of any workspace by their IDs, for the directory. The next call reuses k.
func (s *APIKeys) APIKeysByID(ctx context.Context, ids []string, fn func(k *apikey.APIKey) error) error {
	const atOnce = 200
	for len(ids) > 0 {
		some := ids[:min(atOnce, len(ids))]
		ids = ids[len(some):]
		var c Conditions
		for _, id := range some {
			c.Where(`?`, id)
		}
		err := s.eachAPIKey(ctx, selectAPIKey+` FROM api_key k LEFT JOIN api_key_secret s ON s.key_id = k.id
			WHERE k.id IN (`+strings.Join(c.all, ", ")+`) ORDER BY k.id`, c.Args, fn)
		if err != nil {
			return fmt.Errorf("read keys: %w", err)
		}
	}
	return nil
}
