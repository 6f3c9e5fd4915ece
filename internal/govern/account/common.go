package account

import "strings"

// isCommon reports whether a password is among those that are guessed first, ignoring case. The list contains only passwords
// that are long enough to be accepted.
func isCommon(password string) bool {
	_, is := commonPasswords[strings.ToLower(password)]
	return is
}

var commonPasswords = func() map[string]struct{} {
	set := map[string]struct{}{}
	for word := range strings.FieldsSeq(`
		123456789012 1234567890123 12345678901234 123456789012345 1234567890123456 12345678901234567890 0123456789012
		123456789123 123456789123456789 123456789abc 123456789qwe 1234567890qwerty 1234567890abc 0987654321098 098765432109
		987654321098 987654321012 123321123321 112233445566 111222333444 111111222222 159753159753 147258369147 741852963741
		1q2w3e4r5t6y 1q2w3e4r5t6y7u 1q2w3e4r5t6y7u8i 1q2w3e4r5t6y7u8i9o0p 1qaz2wsx3edc 1qaz2wsx3edc4rfv 1qazxsw23edc
		zaq12wsxcde3 zaq1zaq1zaq1 q1w2e3r4t5y6 q1w2e3r4t5y6u7i8 qazwsxedcrfv qazwsxedcrfvtgb qazwsxedc123 qwer1234qwer
		qwertyuiop12 qwertyuiop123 qwertyuiop1234 qwertyuiop123456 qwertyuiop[] qwertyuiopasdf qwertyuiopasdfghjkl
		qwertyuiopasdfghjklzxcvbnm qwerty123456 qwerty1234567 qwerty12345678 qwerty123456789 qwertyqwerty qwerty123qwerty
		asdfghjkl123 asdfghjkl1234 asdfghjklqwertyuiop asdfasdfasdf zxcvbnmasdfghjkl zxcvbnm12345 zxcvbnm123456 zxcvbnmzxcvbnm
		abcdefghijkl abcdefghijklm abcdefghijklmnopqrstuvwxyz abc123abc123 abcd1234abcd abcdefg12345 abcdefgh1234 abcd12345678
		password1234 password12345 password123456 password1234567 password123! password1234! password123$ password2023
		password2024 password2025 password2026 passwordpassword password1password passw0rd1234 passw0rdpassw0rd p@ssw0rd1234
		p@ssword1234 p@ssw0rd123! pa$$word1234 mypassword12 mypassword123 newpassword1 newpassword12 newpassword123
		thisismypassword iloveyou1234 iloveyou12345 iloveyouforever iloveyou123456 iloveyousomuch ilovemyfamily
		letmein12345 letmein123456 letmeinplease letmeinletmein welcome12345 welcome123456 welcome2025! welcome2026!
		administrator administrator1 administrator123 administrateur admin1234567 admin12345678 admin123456789 adminadmin123
		adminadminadmin admin123admin123 superadmin123 rootrootroot rootpassword changeme1234 changeme12345 changemenow1
		changemeplease defaultpassword default12345 temppassword temporary123 testtesttest testpassword test12345678
		test123456789 test1234test guestguest12 football1234 football12345 baseball1234 basketball12 basketball123
		superman1234 spiderman123 princess1234 sunshine1234 monkey123456 dragon123456 master123456 shadow123456 michael12345
		liverpool123 manchester123 charlie12345 jordan232323 trustno1trustno1 trustno11234 starwars1234 pokemon12345
		computer1234 internet1234 secret123456 supersecret1 supersecret123 correcthorse correcthorsebatterystaple
		unbelievable sweetheart12 sweetheart123 blink182blink182 onetwothreefour hello1234567 hellohello12 helloworld12
		helloworld123 helloworld1234 summer2025!! winter2025!! keepsake1234 keepsakekeepsake keepsake12345`) {
		set[word] = struct{}{}
	}
	return set
}()
