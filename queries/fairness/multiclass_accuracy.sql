-- The share of rows whose prediction equals the label, among rows where both are known.
-- views: _groups.sql
SELECT slice, share(pred = label, true) AS value
FROM rows
GROUP BY slice
