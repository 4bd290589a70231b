-- Frequency: the share of rows predicted to be of the class, among a group's rows with a known prediction.
-- There is a row for every group of the slice, the unknown one too, and every class that is predicted
-- anywhere in the slice.
-- views: _groups.sql
-- views: _classes.sql
-- n of: class_rows
-- n: preds IS NOT NULL
SELECT slice, class, "group", share(list_contains(preds, class), true) AS value
FROM class_rows
WHERE predicted
GROUP BY slice, class, "group"
