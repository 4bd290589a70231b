-- True negative rate: the share predicted negative among the negative rows.
-- views: _groups.sql
SELECT slice, share(NOT pred, NOT label) AS value
FROM rows
GROUP BY slice
