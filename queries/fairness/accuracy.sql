-- Accuracy: the share of rows whose prediction equals the label.
-- views: _groups.sql
SELECT slice, share(pred = label, true) AS value
FROM rows
GROUP BY slice
