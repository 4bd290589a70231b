-- False positive rate: the share predicted positive among the negative rows.
-- views: _groups.sql
SELECT slice, share(pred, NOT label) AS value
FROM rows
GROUP BY slice
