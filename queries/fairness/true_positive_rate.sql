-- True positive rate: the share predicted positive among the positive rows.
-- views: _groups.sql
-- n: label AND pred IS NOT NULL
SELECT slice, share(pred, label) AS value
FROM rows
GROUP BY slice
