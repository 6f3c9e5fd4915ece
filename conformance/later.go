package conformance

// peopleChecks are the endpoints of §4 and §5.2 for people.
func peopleChecks() []promise {
	return []promise{
		waits("LoginReturnsABearerToken", "people: /api/auth/login"),
		waits("WrongEmailAndWrongPasswordAreTheSame401", "people: /api/auth/login"),
		waits("ALoginIsThrottled", "people: /api/auth/login"),
		waits("ARefreshTokenWorksOnce", "people: /api/auth/refresh"),
		waits("TheProfileIsTheCallers", "people: /api/v1/profile"),
	}
}

// laterChecks are the endpoints of §1 that have chapters of their own.
func laterChecks() []promise {
	return []promise{
		waits("AnalyticsNeedTheirScope", "analytics"),
		waits("AMemoryIsFoundAfterItWasWritten", "the memory API"),
		waits("MemoriesNeedTheirScopes", "the memory API"),
	}
}

// eventChecks is §6.
func eventChecks() []promise {
	return []promise{waits("AnEventReachesAWebhook", "webhooks")}
}
