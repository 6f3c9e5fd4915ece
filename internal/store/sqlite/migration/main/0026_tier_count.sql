-- +goose Up
-- keepsake: oldest 26, because earlier programs take -1 for a number.

-- A count of a tier that has no limit was 0, and is -1; 0 means none at all. A storage that no change had set was NULL.
UPDATE tier SET keys = -1 WHERE keys = 0;
UPDATE tier SET users = -1 WHERE users = 0;
UPDATE tier SET documents = -1 WHERE documents = 0;
UPDATE tier SET memories = -1 WHERE memories = 0;
UPDATE tier SET storage = CASE name WHEN 'free' THEN 268435456 WHEN 'pro' THEN 10737418240 WHEN 'business' THEN 107374182400 ELSE -1 END
WHERE storage IS NULL;
