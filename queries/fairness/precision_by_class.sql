-- Precision: the share of rows truly of the class, among a group's rows predicted to be of the class.
-- There is a row for every group of the slice, the unknown one too, and every class that is predicted or
-- true anywhere in the slice.
-- views: _groups.sql
-- views: _classes.sql
-- n of: class_rows
-- n: list_contains(preds, class) AND label IS NOT NULL
SELECT slice, class, "group", share(label = class, list_contains(preds, class)) AS value
FROM class_rows
GROUP BY slice, class, "group"
