-- False positive rate: the share predicted positive among the negative rows.
-- views: _groups.sql
-- n: NOT label AND pred IS NOT NULL
SELECT slice, share(pred, NOT label) AS value
FROM rows
GROUP BY slice
