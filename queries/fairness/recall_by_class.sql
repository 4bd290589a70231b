-- Recall: the share of rows predicted to be of the class, among a group's rows truly of the class. There
-- is a row for every group of the slice, the unknown one too, and every class that is predicted or true
-- anywhere in the slice.
-- views: _groups.sql
-- views: _classes.sql
-- n of: class_rows
-- n: label = class AND preds IS NOT NULL
SELECT slice, class, "group", share(list_contains(preds, class), label = class) AS value
FROM class_rows
GROUP BY slice, class, "group"
