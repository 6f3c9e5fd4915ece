package client_test

import (
	"errors"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
)

func TestAUserSignsInAndOut(t *testing.T) {
	t.Parallel()
	running := apptest.Start(t)
	ctx := t.Context()
	admin, err := client.New(running.URL, running.Key)
	if err != nil {
		t.Fatal(err)
	}
	const password, later = "a password for now", "a password for later"
	if _, err := admin.CreateUser(ctx, client.NewUser{Email: "ada@example.org", Password: password, Role: "viewer"}); err != nil {
		t.Fatal(err)
	}
	nobody, err := client.New(running.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nobody.Login(ctx, "Ada@example.org", password)
	if err != nil {
		t.Fatal(err)
	}
	if pair, err = nobody.Refresh(ctx, pair.RefreshToken); err != nil {
		t.Fatal(err)
	}
	ada, err := client.New(running.URL, "", client.AccessToken(pair.AccessToken))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ada.ChangeProfile(ctx, client.ProfileChange{Name: client.To("Ada")}, &pair.User.Revision); err != nil {
		t.Fatal(err)
	}
	profile, err := ada.Profile(ctx)
	if err != nil || profile.Name == nil || *profile.Name != "Ada" || profile.Role != "viewer" || profile.LastLoginAt == nil {
		t.Errorf("the profile is %+v, %v", profile, err)
	}
	if err := ada.ChangePassword(ctx, password, later); err != nil {
		t.Fatal(err)
	}
	if err := ada.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	var refused *client.Error
	if _, err := ada.Profile(ctx); !errors.As(err, &refused) || refused.Code != "invalid_token" {
		t.Errorf("after the logout: %v", err)
	}
	if _, err := nobody.Login(ctx, "ada@example.org", later); err != nil {
		t.Errorf("with the new password: %v", err)
	}
	rotated, err := admin.RotateSigningKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := nobody.SigningKeys(ctx)
	if err != nil || len(keys) != 3 || keys[0].ID != rotated.ID {
		t.Errorf("the signing keys are %+v, %v, want %s first", keys, err, rotated.ID)
	}
}
